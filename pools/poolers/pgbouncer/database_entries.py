"""Entries of PgBouncer's [databases] section: from a pool, to a line, and back; and those it can't change in place.

A fixed user is not lost by a reload ("losing forced user not supported", pgbouncer/pgbouncer#355; seen up to 1.26).
And a PgBouncer before 1.24 dies ("put_in_order: found existing elem", seen on 1.18) at the next login of a user to
an entry where it has a pool already, but was found otherwise then: looked up, listed in userlist.txt or [users], or
fixed in the entry. An entry that is gone for one reload forgets its pools; its clients have to log in again.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from django.utils.translation import gettext as _

from core.lib.crypto import SealBroken
from pools.clusters import auth_query, topology
from pools.clusters.topology import Address
from pools.models import NodeRole, Pool, identifiers
from pools.poolers import settings_schema
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import releases, values
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.settings_schema import Scope, Version

LINES = re.compile(r"; pool (([0-9a-f-]{36})\n(\S+) = (.+))", re.ASCII)
# Just what `Entry.line` writes of an entry without settings and without a quote in a value. Most of ten thousand are
# like that: one match takes it apart, and it need not be written anew. Any other is read pair by pair.
PLAIN = re.compile(
    r"host='([^'\n]*)' port=(0|[1-9]\d*) dbname='([^'\n]*)'(?: user='([^'\n]+)' password='([^'\n]*)')?"
    r"(?: auth_user='([^'\n]+)')? pool_size=([1-9]\d*) pool_mode=(\w+) max_db_connections=\7",
    re.ASCII,
)
PAIR = re.compile(r"(\w+)=(?:'((?:[^']|'')*)'|(\S+))")
LOOSE_PAIR = re.compile(r"(\w+)\s*=\s*(?:'((?:[^']|'')*)'|(\S+))")  # people write them with blanks
TAKEN = re.compile(r"; pool (([0-9a-f-]{36}), taken over\n(\S+) = ([^\n]*))", re.ASCII)
START = "; pool "
LOGIN = attrgetter("cluster_id", "through_id", "target", "database", "user")  # of pools with one login to their servers
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
DEFAULT_PORT = 5432
QUERY_PER_ENTRY = (1, 22)  # the first release whose entries may have an auth_query each; before, one for all
TOLERANT = (1, 24)  # the first release that a user who is found otherwise than before does not end
Rows = Collection[Mapping[str, object]]
Values = tuple[str, int, str, str, str, str, str, int, Mapping[str, str]]  # those of an entry behind its name
Forced = Mapping[object, object]  # name of an entry → its fixed user, as SHOW DATABASES has it


class FoundBy(Enum):
    """The way in which PgBouncer gets to know a user of an entry."""

    LOOKUP = "auth_query"
    LIST = "userlist.txt"
    ENTRY = "user="


class Entry(NamedTuple):
    """One line of [databases]. Without `user` clients log in as themselves and `auth_user` looks up their secrets.

    `pool` is its pool's `key`. A tuple, since ten thousand are made five times as fast as of any other frozen class.
    """

    pool: str
    name: str
    host: str
    port: int
    database: str
    user: str
    password: str
    auth_user: str
    mode: str
    size: int
    settings: Mapping[str, str] = NO_SETTINGS
    kept: str = ""  # the operator's own connection string, of an entry that was taken over

    def __repr__(self) -> str:
        """Return the dataclass's form without the password."""
        return f"Entry({self.name}, pool {self.pool})"

    @property
    def role(self) -> str:
        """The role whose password userlist.txt must hold; empty for an entry that let its users in before."""
        return "" if self.kept else self.user or self.auth_user

    @property
    def most(self) -> int:
        """The server connections it may ever hold: its size and its reserve, whatever the number of its users."""
        own = self.settings
        return self.size + int(own.get("reserve_pool_size") or own.get("reserve_pool") or 0) if own else self.size

    @property
    def _route(self) -> tuple[object, ...]:
        query = self.settings.get("auth_query")
        return self.host, self.port, self.database, self.user, self.password, self.auth_user, query

    def moved_from(self, other: "Entry") -> bool:
        """Return whether its servers or the login to them differ from the other's."""
        return self._route != other._route

    def line(self) -> str:
        """Render the entry under a comment that names its pool."""
        if self.kept:
            return f"{START}{self.pool}, taken over\n{self.name} = {self.kept}"
        return f"{START}{self.pool}\n{self.name} = {self.pairs}"

    @property
    def pairs(self) -> str:
        """The connection string of an entry that was not taken over."""
        login = f" user={quoted(self.user)} password={quoted(self.password)}" if self.user else ""
        lookup = f" auth_user={quoted(self.auth_user)}" if self.auth_user else ""
        others = "".join(f" {key}={quoted(value)}" for key, value in self.settings.items())
        where = f"host={quoted(self.host)} port={self.port} dbname={quoted(self.database)}"
        # a pool multiplies per user; max_db_connections keeps them all within its budget
        terms = f"pool_size={self.size} pool_mode={self.mode} max_db_connections={self.most}"
        return f"{where}{login}{lookup} {terms}{others}"


class Login(NamedTuple):
    """PgBouncer's login to a server for a pool: the fields of its entry between its name and its mode."""

    host: str
    port: int
    database: str
    user: str
    password: str
    auth_user: str


class LoginCache:
    """Passwords and addresses of clusters, each read once in an apply, however many the pools."""

    def __init__(self) -> None:
        self._passwords: dict[tuple[UUID, str], str] = {}
        self._addresses: dict[tuple[UUID, str], tuple[str, int, str]] = {}
        self._logins: dict[tuple[object, ...], Login] = {}

    def login(self, pool: Pool) -> Login:
        """Return the login to its servers; raises `Rejected` where PgBouncer would misread a value."""
        key = LOGIN(pool)
        return self._logins.get(key) or self._logins.setdefault(key, self._login(pool))

    def password(self, pool: Pool, role: str) -> str:
        """Return the password of a role of the pool's cluster; raises `Rejected` without a usable one."""
        key = (pool.cluster_id, role)
        if key not in self._passwords:
            self._passwords[key] = password_of(pool, role)
        return self._passwords[key]

    def address(self, pool: Pool) -> tuple[str, int, str]:
        """Host (or hosts with commas between), port, and what has to be said of them; raises `Rejected` for none."""
        key = (pool.through_id or pool.cluster_id, pool.target)
        if key not in self._addresses:
            self._addresses[key] = address_of(pool)
        return self._addresses[key]

    def servers(self, pool: Pool) -> list[Address]:
        """List the servers of its cluster that a pool leads to, at least one; the primary behind a Pgpool-II."""
        if pool.target == NodeRole.PRIMARY:
            return topology.addresses(pool.cluster, NodeRole.PRIMARY)
        hosts, port, _note = self.address(pool)
        return [(host, port) for host in hosts.split(",")]

    def _login(self, pool: Pool) -> Login:
        host, port, _note = self.address(pool)
        return Login(
            host=_sound(pool, "host", host),
            port=port,
            database=_sound(pool, "database", pool.database),
            user=_sound(pool, "user", pool.user),
            password=self.password(pool, pool.user) if pool.user else "",
            auth_user="" if pool.user else _sound(pool, _("user for look-ups"), lookup_role(pool)),
        )


def of_pool(pool: Pool, version: Version, known: LoginCache) -> Entry:
    """Build the entry of a pool; raises `Rejected` where PgBouncer would misread it."""
    if problem := identifiers.pool_name_problem(pool.name):
        raise Rejected(problem, pool.pk)
    login = known.login(pool)
    return Entry(pool.key, pool.name, *login, pool.mode, pool.size, _settings_of(pool, version))


def lookup_role(pool: Pool) -> str:
    """Return the role that looks up inbound users: the one made for it, else the cluster's admin."""
    return pool.cluster.auth_role or pool.cluster.admin_user


def query_of(pool: Pool) -> str:
    """Return the query that an inbound pool needs; empty for PgBouncer's own, which its admin may run."""
    return auth_query.QUERY if pool.cluster.auth_role and not pool.user else ""


def address_of(pool: Pool) -> tuple[str, int, str]:
    """See `Found.address`. Standbys behind another port than the first one's are left out: an entry has one port."""
    if pool.through:
        return pool.through.host, pool.through.port, ""
    found = topology.addresses(pool.cluster, NodeRole(pool.target))
    if not found:
        raise Rejected(
            _(
                "pool %(pool)s routes to the standbys of %(cluster)s, which has none in recovery: "
                "register them as its nodes, or let the pool route to the primary"
            )
            % {"pool": pool, "cluster": pool.cluster},
            pool.pk,
        )
    port = found[0][1]
    hosts, others = [host for host, at in found if at == port], [f"{host}:{at}" for host, at in found if at != port]
    note = (
        _("%(others)s of %(cluster)s left out: an entry has one port, here %(port)s")
        % {"others": ", ".join(others), "cluster": pool.cluster, "port": port}
        if others
        else ""
    )
    return ",".join(hosts), port, note


def password_of(pool: Pool, role: str) -> str:
    """Return the role's password; raises `Rejected` where it is unknown or PgBouncer would misread it."""
    try:
        password = pool.cluster.password_of(role)
    except SealBroken:
        raise Rejected(
            _("the stored password of %(role)s on %(cluster)s can't be decrypted: enter it again")
            % {"role": role, "cluster": pool.cluster},
            pool.pk,
        ) from None
    if not password:
        raise Rejected(
            _("the panel doesn't know the password of %(role)s on %(cluster)s: give it with the pool")
            % {"role": role, "cluster": pool.cluster},
            pool.pk,
        )
    if problem := identifiers.password_problem(password):
        params = {"role": role, "cluster": pool.cluster, "problem": problem}
        raise Rejected(_("%(role)s on %(cluster)s: %(problem)s") % params, pool.pk)
    return password


class Reader:
    """Reads files of one apply: the old and the new hold nearly the same lines, and each line is parsed once."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, list[Entry]]] = []  # two or three, compared, since megabytes take long to hash
        self._lines: dict[str, Entry] = {}
        self._written: dict[int, str] = {}  # the keys are ids of entries, which `_lines` keeps alive
        self._pairs: dict[tuple[object, ...], str] = {}  # the keys are what entries have between name and settings

    def read(self, text: str) -> list[Entry]:
        """Parse the entries of a file that this module wrote; other lines are skipped."""
        entries = next((entries for known, entries in self._texts if known == text), None)
        if entries is None:
            entries = self._among_known(text) if self._lines else self._parsed(text)
            self.know(text, entries)
        return list(entries)

    def know(self, text: str, written: list[Entry]) -> None:
        """Remember the entries that a text was written from, so that it need not be parsed."""
        self._texts.append((text, written))

    def line(self, entry: Entry) -> str:
        """Return the line of an entry as it was read, else `Entry.line`; pairs that many have are rendered once."""
        if written := self._written.get(id(entry)):
            return written
        if entry.settings or entry.kept:
            return entry.line()
        alike = entry[2:10]
        pairs = self._pairs.get(alike) or self._pairs.setdefault(alike, entry.pairs)
        return f"{START}{entry.pool}\n{entry.name} = {pairs}"

    def _among_known(self, text: str) -> list[Entry]:
        """Parse a text most of whose lines were read before: only the others are matched."""
        known, found = self._lines, []
        for line in text.removesuffix("\n").split(f"\n{START}"):
            if entry := known.get(line):
                found.append(entry)
            else:
                found += self._parsed(START + line)
        return found

    def _parsed(self, text: str) -> list[Entry]:
        entries, values_of = [], cache(_values_of)  # ten thousand lines mostly have a few values
        for line, pool, name, pairs in LINES.findall(text):
            entry = self._lines[line] = Entry(pool, name, *values_of(pairs))
            if entry.settings is NO_SETTINGS:
                self._written[id(entry)] = START + line
            entries.append(entry)
        for line, pool, name, kept in TAKEN.findall(text):
            self._lines[line] = of_kept(pool, name, kept)
            entries.append(self._lines[line])
        return entries


def read(text: str) -> list[Entry]:
    """Parse the entries of one file; see `Reader.read`."""
    return Reader().read(text)


def of_kept(pool_key: str, name: str, kept: str) -> Entry:
    """Build an entry that was taken over from the operator's own connection string, with the manual's defaults."""
    pairs = {key: bare or inside.replace("''", "'") for key, inside, bare in LOOSE_PAIR.findall(kept)}
    return Entry(
        pool=pool_key,
        name=name,
        host=pairs.pop("host", ""),
        port=int(pairs.pop("port", DEFAULT_PORT)),
        database=pairs.pop("dbname", name),
        user=pairs.pop("user", ""),
        password=pairs.pop("password", ""),
        auth_user="",  # the panel looks up nobody for it; the line itself says whether PgBouncer does
        mode=pairs.pop("pool_mode", ""),
        size=int(pairs.pop("pool_size", 0)),
        settings=pairs,
        kept=kept,
    )


def _values_of(text: str) -> Values:
    """Parse what a line has behind its name; the settings of a `PLAIN` one are `NO_SETTINGS` itself."""
    if found := PLAIN.fullmatch(text):
        host, port, database, user, password, auth_user, size, mode = found.groups(default="")
        return host, int(port), database, user, password, auth_user, mode, int(size), NO_SETTINGS
    pairs = pairs_of(text)
    pairs.pop("max_db_connections", None)
    host, port, database = (pairs.pop(key) for key in ("host", "port", "dbname"))
    user, password, auth_user = (pairs.pop(key, "") for key in ("user", "password", "auth_user"))
    mode, size = pairs.pop("pool_mode"), pairs.pop("pool_size")
    return host, int(port), database, user, password, auth_user, mode, int(size), pairs


def _sound(pool: Pool, what: str, value: str) -> str:
    if problem := identifiers.line_problem(value):
        raise Rejected(
            _("%(field)s of pool %(pool)s: %(problem)s") % {"field": what, "pool": pool, "problem": problem}, pool.pk
        )
    return value


def _settings_of(pool: Pool, version: Version) -> Mapping[str, str]:
    if pool.user and not pool.settings:  # most of ten thousand pools end here
        return NO_SETTINGS
    for _name, fault in settings_schema.problems(CATALOG, Scope.POOL, pool.settings, version):
        raise Rejected(_("pool %(pool)s: %(fault)s") % {"pool": pool, "fault": fault}, pool.pk)
    settings = {releases.key_in(name, version): values.text_of(value) for name, value in sorted(pool.settings.items())}
    query = query_of(pool) if version >= QUERY_PER_ENTRY else ""
    return ({"auth_query": query} if query else {}) | settings


def pairs_of(text: str) -> dict[str, str]:
    """Return the values of a connection string of PgBouncer by their keys; see `quoted`."""
    return {key: bare or inside.replace("''", "'") for key, inside, bare in PAIR.findall(text)}


def quoted(value: str) -> str:
    """Quote a value and double its quotes: the only escape in a connection string of PgBouncer."""
    return "'" + value.replace("'", "''") + "'"


def may_need_removal(version: Version, wanted: Iterable[Entry]) -> bool:
    """Return whether either hazard is possible, so that the pooler's present state is needed."""
    return version < TOLERANT or not all(entry.user for entry in wanted)


def without_fixed_user(forced: Forced, wanted: Iterable[Entry]) -> set[str]:
    """Return the names of entries that have a fixed user now and will have none."""
    return {entry.name for entry in wanted if not entry.user and forced.get(entry.name)}


def crashing_entries(
    version: Version,
    pools: Rows,
    forced: Forced,
    wanted: Iterable[Entry],
    listed: Collection[str],
    listed_after: Collection[str],
) -> set[tuple[str, str]]:
    """Return entries, the operator's too, each with a user who has a pool there and will be found otherwise.

    `listed` are the users that PgBouncer knows now (SHOW USERS), `listed_after` those that it will know.
    """
    if version >= TOLERANT:
        return set()
    names = {row["database"] for row in pools}
    forced = {name: forced[name] for name in names if name in forced}
    becoming = forced | {entry.name: entry.user or None for entry in wanted if entry.name in names}
    return {
        (str(row["database"]), str(row["user"]))
        for row in pools
        if _found(row, forced, listed) != _found(row, becoming, {*listed, *listed_after})
    }


def _found(row: Mapping[str, object], forced: Forced, listed: Collection[str]) -> FoundBy:
    name, user = str(row["database"]), row["user"]
    if forced.get(name) == user:
        return FoundBy.ENTRY
    return FoundBy.LIST if user in listed else FoundBy.LOOKUP
