"""What a PgBouncer's console shows of its entries and of its own login, whoever wrote its files."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from django.utils.translation import gettext as _

from pools.config_files import deliveries, pooler_files
from pools.errors import PoolerUnreachable, PoolsError
from pools.models import Mode, Pooler
from pools.poolers.console_sample import FoundEntry
from pools.poolers.pgbouncer import console, kept_consoles, operators_config, processes, taken_entries
from pools.poolers.pgbouncer.console import Row
from pools.poolers.pgbouncer.database_entries import DEFAULT_PORT
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.operators_config import ANY, Operators
from pools.poolers.pgbouncer.render import DATABASES, MAIN
from pools.poolers.pgbouncer.stats import OWN, number

Resolved = Mapping[str, list[str]]  # name → addresses
ANY_USER = "any"  # this auth_type makes everybody in the console an admin (admin_pre_login of admin.c)
OWNER = "pgbouncer"  # the account that runs PgBouncer is an admin by this name over a Unix socket


@dataclass(frozen=True)
class ConsoleState:
    """The console's answers: SHOW DATABASES of each process, SHOW CONFIG and the resolved names of the first.

    `unused` counts the automatic databases that it holds for clients to come, which SHOW DATABASES leaves out.
    """

    databases: list[list[Row]]
    config: Mapping[str, str]
    resolved: Resolved
    unused: int = 0


def read(pooler: Pooler) -> list[FoundEntry]:
    """Read SHOW DATABASES, and SHOW CONFIG for the mode of those that name none. Raises `PoolerUnreachable`.

    What is open is summed over the processes that share its port; sizes and limits are those of each.

    The entry `*`, and which entries it made, the files of a managed one tell, where a worker on its host has them. The
    console lists no `*`; it proves that there is one by the unused databases that this made.
    """
    tables = _of_each_process(pooler)
    rows, opened = tables.databases[0], Counter[str]()
    for row in chain.from_iterable(tables.databases):
        opened[str(row["name"])] += number(row.get("current_connections"))
    operators = _operators(pooler, rows) if deliveries.has_files_at_checks(pooler) else Operators()
    named = {*operators.entries, *operators.panels}
    found = [
        replace(
            _entry(row, tables),
            connections=opened[str(row["name"])],
            automatic=row["name"] not in named and operators.is_automatic(row),
        )
        for row in rows
        if row["name"] != OWN
    ]
    return [*_fallback(operators, tables), *found]


def _of_each_process(pooler: Pooler) -> ConsoleState:
    if not pooler.shares_its_port:
        with kept_consoles.lent(pooler) as connection:
            rows = console.rows(connection, "databases")
            return ConsoleState([rows], _config(connection), _resolved(connection), _unused_automatic(connection))
    with processes.known(pooler) as (found, _missing):
        tables = [console.rows(one.console, "databases") for one in found]
        return ConsoleState(tables, found[0].config, _resolved(found[0].console))


def _unused_automatic(connection: console.Console) -> int:
    """Return the number of unused automatic databases that are kept until autodb_idle_timeout.

    The cache of databases (SHOW MEM) has them beside those that SHOW DATABASES lists (put in order by objects.c).
    """
    listed = {str(row["list"]): number(row["items"]) for row in console.rows(connection, "lists")}
    used = {str(row["name"]): number(row["used"]) for row in console.rows(connection, "mem")}
    return max(0, used.get("db_cache", 0) - listed.get("databases", 0))


def _resolved(connection: console.Console) -> Resolved:
    """Return name → addresses of the hosts that PgBouncer has resolved; it does so for the first client of each."""
    return {
        str(row["hostname"]).lower().rstrip("."): sorted({_address(one) for one in str(row["addrs"]).split(",") if one})
        for row in console.rows(connection, "dns_hosts")
    }


def _address(shown: str) -> str:
    """Return the address of what SHOW DNS_HOSTS has, which comes with a port: 10.0.0.5:0 and [2001:db8::5]:0."""
    return shown.strip().rpartition(":")[0].strip("[]") if shown.rstrip().endswith(":0") else shown.strip()


def _addresses(host: str, resolved: Resolved) -> dict[str, list[str]]:
    """Return those of the hosts of an entry."""
    hosts = [one.strip() for one in host.split(",")]
    found = {one: resolved.get(one.lower().rstrip(".")) for one in hosts}
    return {one: addresses for one, addresses in found.items() if addresses}


def commands_refused(pooler: Pooler) -> str:
    """Return why the console takes no command from the panel's login: it is in stats_users alone."""
    with kept_consoles.lent(pooler) as connection:
        config = _config(connection)
    by_socket = pooler.host.startswith(("/", "@")) and pooler.admin_user == OWNER
    if by_socket or config.get("auth_type") == ANY_USER or pooler.admin_user in _names(config.get("admin_users", "")):
        return ""
    return _(
        "%(user)s is none of the admin_users of pooler %(pooler)s, so its console refuses PAUSE, RESUME, KILL, "
        "RECONNECT, DISABLE, ENABLE and RELOAD: register a login that is one of them"
    ) % {"user": pooler.admin_user, "pooler": pooler}


def claim_on(pooler: Pooler, name: str) -> str:
    """Return a sentence of what the operator has by that name; empty for nothing, or where its files are elsewhere."""
    try:
        with console.open(pooler) as connection:
            rows = console.rows(connection, "databases")
    except PoolerUnreachable:
        return ""
    operators = _operators(pooler, rows)
    return operators.claim_on(name) if operators.reading.lines else ""


def _operators(pooler: Pooler, rows: Iterable[Row]) -> Operators:
    """Return the operator's entries and settings; empty where their files are elsewhere, or not safe to read."""
    try:
        disk = pooler_files.read(pooler, [MAIN, DATABASES, SETTINGS])
    except (PoolsError, OSError):
        return Operators()
    texts = {file: (content or b"").decode(errors="surrogateescape") for file, content in disk.items()}
    if not texts[MAIN]:
        return Operators()
    reading = operators_config.of_folder(pooler, texts[MAIN], texts, pooler.config_dir)
    return Operators(reading, {str(row["name"]): row for row in rows}, operators_config.names_in(texts[DATABASES]))


def _fallback(operators: Operators, shown: ConsoleState) -> Iterator[FoundEntry]:
    """Yield the entry `*`, which the console never lists itself; what its line says only where files were read."""
    if ANY in operators.entries:
        yield _fallback_of(operators.entries[ANY].pairs, shown)
    elif shown.unused and not operators.reading.lines:
        yield FoundEntry(name=ANY, mode=_mode(None, shown.config), unused=shown.unused)


def _fallback_of(pairs: Mapping[str, str], shown: ConsoleState) -> FoundEntry:
    return FoundEntry(
        name=ANY,
        host=pairs.get("host") or shown.config.get("unix_socket_dir", ""),
        port=number(pairs.get("port", DEFAULT_PORT)) or None,
        database=pairs.get("dbname", ""),
        user=pairs.get("user", ""),
        mode=_mode(taken_entries.mode_of(pairs, shown.config), shown.config),
        size=taken_entries.size_of(pairs, shown.config),
        reserve=number(pairs.get("reserve_pool") or pairs.get("reserve_pool_size")),
        addresses=_addresses(pairs.get("host", ""), shown.resolved),
    )


def _mode(named: object, config: Mapping[str, str]) -> str:
    mode = str(named or config.get("pool_mode"))
    return mode if mode in Mode.values else Mode.SESSION.value


def _entry(row: Row, shown: ConsoleState) -> FoundEntry:
    """Build an entry; one without a host leads to a socket in PgBouncer's own folder of sockets (dns_connect of it)."""
    return FoundEntry(
        name=str(row["name"]),
        host=str(row["host"] or shown.config.get("unix_socket_dir", "")),
        port=number(row["port"]) or None,
        database=str(row["database"] or ""),
        user=str(row["force_user"] or ""),
        mode=_mode(row.get("pool_mode"), shown.config),
        size=number(row["pool_size"]),
        reserve=number(row.get("reserve_pool_size", row.get("reserve_pool"))),
        max_connections=number(row.get("max_connections")),
        paused=bool(row.get("paused")),
        disabled=bool(row.get("disabled")),
        addresses=_addresses(str(row["host"] or ""), shown.resolved),
    )


def _config(connection: console.Console) -> Mapping[str, str]:
    return {str(row["key"]): str(row["value"] or "") for row in console.rows(connection, "config")}


def _names(listed: str) -> set[str]:
    return set(re.split(r"[,\s]+", listed))
