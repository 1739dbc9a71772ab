"""Turns DATABASE_URL into Django's settings: SQLite in WAL mode, or PostgreSQL."""

from typing import NotRequired, TypedDict
from urllib.parse import parse_qsl, unquote, urlsplit

SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;",
}


class DatabaseSettings(TypedDict):
    """Django's settings of one database, as far as the panel sets them."""

    ENGINE: str
    NAME: str
    USER: NotRequired[str]
    PASSWORD: NotRequired[str]
    HOST: NotRequired[str]
    PORT: NotRequired[str]
    OPTIONS: dict[str, object]
    CONN_MAX_AGE: NotRequired[int]
    CONN_HEALTH_CHECKS: NotRequired[bool]
    TEST: NotRequired[dict[str, str]]


def from_url(url: str) -> DatabaseSettings:
    """Return Django's settings for `sqlite:///PATH` or `postgres(ql)://user:password@host:port/name?option=value`."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "core.audit.sqlite3",
            "NAME": url.removeprefix("sqlite:///"),
            "OPTIONS": dict(SQLITE_OPTIONS),
            "CONN_MAX_AGE": 60,
        }
    if parts.scheme not in ("postgres", "postgresql"):
        raise ValueError(f"DATABASE_URL: {parts.scheme!r} is neither sqlite nor postgresql")
    return {
        "ENGINE": "core.audit.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": {"connect_timeout": 5, "application_name": "pooldeck", **dict(parse_qsl(parts.query))},
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }
