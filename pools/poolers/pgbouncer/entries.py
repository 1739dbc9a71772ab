"""Entries of PgBouncer's [databases] section: from a pool, to a line, and back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from panel.crypto import SealBroken
from pools import names
from pools.models import Pool
from pools.poolers.kind import Rejected
from pools.poolers.pgbouncer import settings
from pools.poolers.pgbouncer.settings import Version

LINE = re.compile(r"; pool (?P<pool>[0-9a-f-]{36})\n(?P<name>\S+) = (?P<pairs>.+)")
PAIR = re.compile(r"(\w+)=(?:'((?:[^']|'')*)'|(\S+))")


@dataclass(frozen=True)
class Entry:
    """One line of [databases]. Without `user` clients log in as themselves and `auth_user` looks up their secrets."""

    pool: UUID
    name: str
    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    auth_user: str
    mode: str
    size: int
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def role(self) -> str:
        """Whose password userlist.txt must hold."""
        return self.user or self.auth_user

    def moved_from(self, other: "Entry") -> bool:
        """Whether its servers are logged in to elsewhere or otherwise than the other's."""
        places = [(one.host, one.port, one.database, one.user, one.password, one.auth_user) for one in (self, other)]
        return places[0] != places[1]

    def line(self) -> str:
        """The entry as PgBouncer reads it, under a comment that names its pool."""
        pairs = {
            "host": quoted(self.host),
            "port": str(self.port),
            "dbname": quoted(self.database),
            **({"user": quoted(self.user), "password": quoted(self.password)} if self.user else {}),
            **({"auth_user": quoted(self.auth_user)} if self.auth_user else {}),
            "pool_size": str(self.size),
            "pool_mode": self.mode,
            "max_db_connections": str(self.size),  # a pool multiplies per user; this keeps them all within its size
            **{key: quoted(value) for key, value in self.settings.items()},
        }
        return f"; pool {self.pool}\n{self.name} = {' '.join(f'{key}={value}' for key, value in pairs.items())}"


class Passwords:
    """The roles' passwords for one apply, each read and unsealed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[UUID, str], str] = {}

    def of(self, pool: Pool, role: str) -> str:
        """The password of a role of the pool's cluster; raises `Rejected` where there is none to be used."""
        key = (pool.cluster_id, role)
        if key not in self._known:
            self._known[key] = password_of(pool, role)
        return self._known[key]


def of_pool(pool: Pool, version: Version, passwords: Passwords) -> Entry:
    """The entry a pool asks for; raises `Rejected` where PgBouncer would misread it."""
    if problem := names.pool_name_problem(pool.name):
        raise Rejected(f"pool name {problem}", pool.pk)
    return Entry(
        pool=pool.pk,
        name=pool.name,
        host=_sound(pool, "host", pool.cluster.host),
        port=pool.cluster.port,
        database=_sound(pool, "database", pool.database),
        user=_sound(pool, "user", pool.user),
        password=passwords.of(pool, pool.user) if pool.user else "",
        auth_user="" if pool.user else _sound(pool, "admin_user", pool.cluster.admin_user),
        mode=pool.mode,
        size=pool.size,
        settings=_settings_of(pool, version),
    )


def password_of(pool: Pool, role: str) -> str:
    """The role's password; raises `Rejected` where it is unknown or PgBouncer would read another."""
    try:
        password = pool.cluster.password_of(role)
    except SealBroken:
        raise Rejected(
            f"the stored password of {role} on {pool.cluster} can't be opened: give it again", pool.pk
        ) from None
    if not password:
        raise Rejected(
            f"the panel doesn't know the password of {role} on {pool.cluster}: give it with the pool", pool.pk
        )
    if problem := names.password_problem(password):
        raise Rejected(f"{role} on {pool.cluster}: {problem}", pool.pk)
    return password


def quoted(value: str) -> str:
    """A value in single quotes, its own quotes doubled: the only escape a connection string of PgBouncer has."""
    return "'" + value.replace("'", "''") + "'"


def read(text: str) -> list[Entry]:
    """The entries of a file this module wrote; other lines are passed over."""
    return [_read_one(found) for found in LINE.finditer(text)]


def _read_one(found: re.Match[str]) -> Entry:
    pairs = {key: (bare or inside.replace("''", "'")) for key, inside, bare in PAIR.findall(found["pairs"])}
    pairs.pop("max_db_connections", None)
    return Entry(
        pool=UUID(found["pool"]),
        name=found["name"],
        host=pairs.pop("host"),
        port=int(pairs.pop("port")),
        database=pairs.pop("dbname"),
        user=pairs.pop("user", ""),
        password=pairs.pop("password", ""),
        auth_user=pairs.pop("auth_user", ""),
        mode=pairs.pop("pool_mode"),
        size=int(pairs.pop("pool_size")),
        settings=pairs,
    )


def _sound(pool: Pool, what: str, value: str) -> str:
    if problem := names.line_problem(value):
        raise Rejected(f"{what} of pool {pool}: {problem}", pool.pk)
    return value


def _settings_of(pool: Pool, version: Version) -> dict[str, str]:
    for name, value in pool.settings.items():
        if fault := settings.fault_of(name, value, version):
            raise Rejected(f"pool {pool}: {fault}", pool.pk)
        _sound(pool, name, str(value))
    return {settings.key_in(name, version): str(value) for name, value in sorted(pool.settings.items())}
