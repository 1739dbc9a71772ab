"""The one place that reads environment variables; an invalid value stops the start and names its variable."""

import os
import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from django.core.exceptions import ImproperlyConfigured

from core.lib import key_command, syslog
from core.lib.queues import WorkerKind

T = TypeVar("T")
Networks = list[IPv4Network | IPv6Network]
NOWHERE: Networks = []
_OWN = ("POOLDECK_", "DATABASE_URL", "REDIS_URL")
# whoever knows one of these may use it
_SECRET_ADDRESSES = ("DATABASE_URL", "REDIS_URL", "POOLDECK_WEBHOOK_URL", "POOLDECK_AUDIT_WEBHOOK_URL")
BASE_DIR = Path(__file__).resolve().parents[2]
_PACKAGED = BASE_DIR / "panel" / "share"
IS_CHECKOUT = not _PACKAGED.is_dir()
# templates, static files, translations and examples: beside the packages, or inside one where a wheel is installed
SHARE_DIR = BASE_DIR if IS_CHECKOUT else _PACKAGED


def read(name: str, default: T, parse: Callable[[str], T]) -> T:
    """Parse the variable; return the default where it is unset or empty.

    Raises `ImproperlyConfigured` with the value, unless that is an address with a secret in it.
    """
    raw = os.environ.get(name, "")
    if not raw:
        return default
    try:
        return parse(raw)
    except ValueError as error:
        if name in _SECRET_ADDRESSES:
            raise ImproperlyConfigured(f"{name}: {error}") from None
        raise ImproperlyConfigured(f"{name}={raw!r}: {error}") from error


def of_other_programs() -> dict[str, str]:
    """Return the environment for programs that are not the panel's: this one without its keys and passwords."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}


def caller_of_sudo() -> str:
    """Return who called sudo for this process; empty where nobody did."""
    return os.environ.get("SUDO_USER", "")


def _of_key_command() -> dict[str, str]:
    return key_command.environment(os.environ, words("POOLDECK_KEY_COMMAND_ENV", []))


def text(name: str, default: str = "") -> str:
    """Read a variable as text."""
    return read(name, default, str)


def number(name: str, default: int, least: int = 0) -> int:
    """Read a whole number, not below `least`."""

    def parse(raw: str) -> int:
        value = int(raw)
        if value < least:
            raise ValueError(f"must be at least {least}")
        return value

    return read(name, default, parse)


def generator_name(raw: str) -> str:
    """Check a worker's name, which becomes part of the name of its queue."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", raw) or raw == "any":
        raise ValueError("use 1 to 63 letters, digits, dots, hyphens and underscores, but not the word any")
    return raw


def worker_kind(raw: str) -> WorkerKind:
    """Parse which queues a worker takes from."""
    if raw not in list(WorkerKind):
        raise ValueError(f"use {', '.join(WorkerKind)}")
    return WorkerKind(raw)


def flag(name: str, default: bool = False) -> bool:
    """Read a boolean: true, yes, on, 1 or their opposites."""
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}

    def parse(raw: str) -> bool:
        if raw.lower() not in words:
            raise ValueError("use true or false")
        return words[raw.lower()]

    return read(name, default, parse)


def words(name: str, default: list[str]) -> list[str]:
    """Read a list separated by commas."""
    return read(name, default, lambda raw: [word.strip() for word in raw.split(",") if word.strip()])


def require_mfa(raw: str) -> str:
    """Check of whom a second factor is required."""
    if raw not in ("none", "admins", "operators", "all"):
        raise ValueError("use none, admins, operators or all")
    return raw


def web_address(raw: str) -> str:
    """Check an http or https URL with a host, and strip the slash at its end."""
    parts = urlsplit(raw)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("use http:// or https:// and a host")
    if not re.fullmatch("[!-~]+", raw):
        raise ValueError("write blanks and letters beyond ASCII as %20 and the like")
    return raw.rstrip("/")


def syslog_receiver(raw: str) -> syslog.Receiver | None:
    """Parse where syslog is received."""
    return syslog.parse(raw)


def networks(raw: str) -> Networks:
    """Parse addresses and networks in CIDR notation, separated by commas."""
    return [ip_network(word.strip()) for word in raw.split(",") if word.strip()]


def mail_security(raw: str) -> str:
    """Check how the connection to the mail server is encrypted."""
    if raw not in ("starttls", "tls", "none"):
        raise ValueError("use starttls, tls or none")
    return raw


def remove_libpq_variables() -> None:
    """Remove libpq's own variables (PGSERVICE, PGHOSTADDR, PGOPTIONS, …) from the environment.

    libpq applies them to every parameter that a connection leaves out, and no parameter overrides PGSERVICE: a variable
    meant for one server would break logins to the others. Only DATABASE_URL names the panel's own database.
    """
    for name in [name for name in os.environ if re.fullmatch("PG[A-Z]+", name)]:
        del os.environ[name]


def home() -> Path:
    """Return the folder of all state: POOLDECK_HOME, by default var/ in the checkout.

    Where a wheel is installed, the default is /var/lib/pooldeck for root, whose own folder no server's account may
    enter, and ~/.local/share/pooldeck for others.
    """
    return Path(text("POOLDECK_HOME", str(_default_home()))).resolve()


def _default_home() -> Path:
    if IS_CHECKOUT:
        return BASE_DIR / "var"
    if os.geteuid() == 0:
        return Path("/var/lib/pooldeck")
    return Path.home() / ".local" / "share" / "pooldeck"


def database_url() -> str:
    """Return the metadata database's URL: DATABASE_URL, by default SQLite under the home."""
    return read("DATABASE_URL", f"sqlite:///{home() / 'pooldeck.sqlite3'}", _address_with_login)


def redis_url() -> str:
    """Return REDIS_URL; without it, database 0 of the Redis on port 6379 of this machine."""
    return read("REDIS_URL", "redis://127.0.0.1:6379/0", _address_with_login)


def _address_with_login(raw: str) -> str:
    """Check that a password does not end the host: whoever splits the URL later would print a part of it."""
    try:
        urlsplit(raw).port  # noqa: B018 (it is computed, and refused, when it is asked for)
    except ValueError:
        raise ValueError("its port is not a number: write : / ? # @ of a password as %3A %2F %3F %23 %40") from None
    return raw


def broker_url() -> str:
    """Return REDIS_URL as Celery writes it: redis-py's `unix://PATH?db=N` is its `redis+socket://PATH?virtual_host=N`."""
    url = urlsplit(redis_url())
    if url.scheme != "unix":
        return url.geturl()
    database = dict(parse_qsl(url.query)).get("db", "0")
    return f"redis+socket://{url.netloc}{url.path}?virtual_host={database}"


def secrets_folder() -> Path:
    """Return the folder of the files secret_key and keys: POOLDECK_SECRETS_FOLDER, by default the home."""
    return Path(text("POOLDECK_SECRETS_FOLDER", str(home()))).resolve()


def message_signing() -> tuple[str, str, str]:
    """Return the paths of the key and the certificate that sign messages, and of the folder of accepted certificates.

    All are empty where messages are not signed. Raises `ImproperlyConfigured` where some are missing.
    """
    key, certificate = text("POOLDECK_MESSAGE_KEY"), text("POOLDECK_MESSAGE_CERTIFICATE")
    accepted = text("POOLDECK_MESSAGE_CERTIFICATES")
    if any((key, certificate, accepted)) and not all((key, certificate, accepted)):
        raise ImproperlyConfigured(
            "POOLDECK_MESSAGE_KEY, POOLDECK_MESSAGE_CERTIFICATE and POOLDECK_MESSAGE_CERTIFICATES belong together: set "
            "all three, or none"
        )
    return key, certificate, accepted


def secret(name: str, file_name: str) -> str:
    """Read a secret from its variable, else from a file of `secrets_folder`; empty where neither exists."""
    path = secrets_folder() / file_name
    return text(name) or (path.read_text().strip() if path.is_file() else "")


def encryption_keys() -> list[str]:
    """Return the Fernet keys of stored passwords: of POOLDECK_KEYS, of POOLDECK_KEY_COMMAND, or of the file keys.

    Raises `ImproperlyConfigured` where there is none, where both variables are set, and where the command fails.
    """
    command = text("POOLDECK_KEY_COMMAND")
    if command and text("POOLDECK_KEYS"):
        raise ImproperlyConfigured(f"POOLDECK_KEYS and {key_command.VARIABLE} are both set: unset one of them")
    if command:
        try:
            return key_command.printed_keys(command, _of_key_command())
        except key_command.KeyCommandFailed as error:
            raise ImproperlyConfigured(str(error)) from None
    if found := [key.strip() for key in secret("POOLDECK_KEYS", "keys").split(",") if key.strip()]:
        return found
    raise ImproperlyConfigured(
        f"POOLDECK_KEYS (or the file keys in {secrets_folder()}, or {key_command.VARIABLE}) is needed; script/up and "
        "script/install make it"
    )
