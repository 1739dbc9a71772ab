"""Who uses a pool, a pooler or a cluster now: a row for each application and user, with what it holds and waits for."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.utils import timezone
from django.utils.translation import gettext as _

from core.accounts.access import Access
from pools.clusters import topology
from pools.clusters.topology import Place
from pools.diagnosis import sessions, shared
from pools.diagnosis.diagnosis import Target, place_of
from pools.errors import ClusterUnreachable
from pools.models import Cluster, Pooler
from pools.poolers import KINDS
from pools.poolers.pool_queue import PoolClient, PoolQueue

SHOWN = 100
TRANSACTIONS = """
    SELECT pid, extract(epoch FROM clock_timestamp() - xact_start)::float8 AS transaction_s
      FROM pg_stat_activity WHERE pid = ANY(%(pids)s)
"""
SESSIONS = """
    SELECT coalesce(application_name, '') AS application, usename::text AS user, count(*) AS clients,
           count(*) FILTER (WHERE xact_start IS NOT NULL AND wait_event_type IS DISTINCT FROM 'Lock') AS in_transaction,
           count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting,
           coalesce(max(extract(epoch FROM clock_timestamp() - query_start))
                    FILTER (WHERE wait_event_type = 'Lock'), 0)::float8 AS longest_wait_s,
           max(extract(epoch FROM clock_timestamp() - xact_start))::float8 AS oldest_transaction_s
      FROM pg_stat_activity
     WHERE pid <> pg_backend_pid() AND usesysid IS NOT NULL AND datid IS NOT NULL
       AND coalesce(backend_type, 'client backend') = 'client backend'
       AND (datname = %(database)s OR %(database)s::text IS NULL)
     GROUP BY 1, 2
"""
SEES_ALL = """
    SELECT current_user::text AS role,
           current_setting('is_superuser')::bool OR pg_has_role('pg_read_all_stats', 'MEMBER') AS sees_all
"""
Transactions = dict[tuple[str, int], float | None]  # seconds since it began, None without one, by pool and pid


@dataclass(frozen=True)
class App:
    """The clients of one application and user; `pools` are those that they named, empty where sessions are counted.

    Those that wait for a lock within their transaction are `waiting`, and not `in_transaction` as well.

    `oldest_transaction_s` is None where no transaction is open, or none that the panel may see.
    """

    application: str
    user: str
    clients: int
    in_transaction: int
    waiting: int
    longest_wait_s: float
    oldest_transaction_s: float | None
    pools: tuple[str, ...] = ()

    @property
    def others(self) -> int:
        """Those that neither have a transaction nor wait."""
        return max(0, self.clients - self.in_transaction - self.waiting)


@dataclass(frozen=True)
class Part:
    """The clients of one kind in the bar of a row; `x` and `width` in percent of the longest bar."""

    kind: str
    label: str
    clients: int
    x: float
    width: float


@dataclass(frozen=True)
class Apps:
    """The applications at one moment, those that wait longest first.

    `counts_clients`: clients of a pooler, which wait for its server connections; otherwise sessions of the server,
    which wait for locks. `notes` say what could not be asked.
    """

    taken_at: datetime
    rows: tuple[App, ...]
    counts_clients: bool
    notes: tuple[str, ...] = ()

    @property
    def most_clients(self) -> int:
        """The clients of the largest row, by which bars are scaled."""
        return max((row.clients for row in self.rows), default=0)

    def parts_of(self, row: App) -> tuple[Part, ...]:
        """Return the bar of a row: those in transactions, those that wait, and the others."""
        counts = (
            ("transaction", _("in transactions"), row.in_transaction),
            ("waiting", _("waiting"), row.waiting),
            ("other", _("neither"), row.others),
        )
        parts, x = [], 0.0
        for kind, label, clients in counts:
            width = 100 * clients / (self.most_clients or 1)
            parts.append(Part(kind, label, clients, round(x, 2), round(width, 2)))
            x += width
        return tuple(part for part in parts if part.clients)

    @property
    def why_no_errors(self) -> str:
        """Why no errors are shown, with what would tell them."""
        if self.counts_clients:
            return _(
                "Errors are not shown: PgBouncer counts none by client. The server's log names the application of each "
                "with %a in log_line_prefix."
            )
        return _(
            "Errors are not shown: PostgreSQL counts none by application. Its log names the application of each with "
            "%a in log_line_prefix."
        )


def of_target(access: Access, target: Target) -> Apps:
    """Read who uses a pool or an entry. Raises `PoolerUnreachable`."""
    clients = KINDS[target.pooler.kind].clients(target.pooler)
    if clients is None:
        return _of_databases(access, target.pooler, [target])
    return _of_clients(access, [client for client in clients if client.pool == target.name], [target])


def of_pooler(access: Access, pooler: Pooler) -> Apps:
    """Read who uses a pooler. Raises `PoolerUnreachable`."""
    clients = KINDS[pooler.kind].clients(pooler)
    if clients is None:
        return _of_databases(access, pooler, shared.targets(pooler, None).values())
    names = {client.pool for client in clients if client.server_pid}
    return _of_clients(access, clients, shared.targets(pooler, names).values())


def of_cluster(cluster: Cluster) -> Apps:
    """Read who has sessions on the primary of a cluster. Raises `ClusterUnreachable`."""
    notes = [_("Through a pooler, a session has the name of the client that has it, or had it last.")]
    rows, hidden = _sessions(topology.primary(cluster), None)
    return Apps(timezone.now(), _in_order(rows), False, (*notes, *hidden))


def _of_clients(access: Access, clients: list[PoolClient], targets: Collection[Target]) -> Apps:
    places = _places(access, targets)
    transactions, notes = _transactions(clients, places)
    if len(places) < len(targets):
        notes.append(_("The ages of transactions are known where a cluster is registered, to those who see it."))
    return Apps(timezone.now(), _rows(clients, transactions), True, tuple(notes))


def _places(access: Access, targets: Collection[Target]) -> dict[str, Place]:
    """Return the server of each pool whose cluster the reader sees."""
    wanted = Cluster.objects.filter(pk__in={target.cluster_id for target in targets if target.cluster_id})
    seen = {one.pk: one for one in access.visible(wanted.select_related("status").prefetch_related("nodes"))}
    found: dict[str, Place] = {}
    for target in targets:
        if target.cluster_id in seen:
            target.cluster = seen[target.cluster_id]
            place = place_of(target, PoolQueue(target.name, 0))
            found |= {target.name: place} if place else {}
    return found


def _transactions(clients: Iterable[PoolClient], places: Mapping[str, Place]) -> tuple[Transactions, list[str]]:
    """Ask each server once for the transactions of the connections that clients have; also return why one did not."""
    found: Transactions = {}
    notes = []
    held = [(client.pool, client.server_pid) for client in clients if client.server_pid and client.pool in places]
    for place in {place.address: place for place in places.values()}.values():
        of_place = [(pool, pid) for pool, pid in held if places[pool].address == place.address]
        try:
            answers = _ask(place, [pid for _pool, pid in of_place]) if of_place else {}
        except ClusterUnreachable as error:
            notes.append(str(error))
            continue
        found |= {(pool, pid): answers[pid] for pool, pid in of_place if pid in answers}
    return found, notes


def _ask(place: Place, pids: list[int]) -> dict[int, float | None]:
    with sessions.asking(place) as cursor:
        return {row["pid"]: row["transaction_s"] for row in cursor.execute(TRANSACTIONS, {"pids": pids})}


def _rows(clients: Iterable[PoolClient], transactions: Transactions) -> tuple[App, ...]:
    def key(client: PoolClient) -> tuple[str, str]:
        return client.application, client.user

    grouped = groupby(sorted(clients, key=key), key)
    return _in_order(_row(*name, list(of_app), transactions) for name, of_app in grouped)


def _row(application: str, user: str, clients: list[PoolClient], transactions: Transactions) -> App:
    """Return the row of an application; a client whose server could not be asked is taken to be in a transaction."""
    held = [(one.pool, one.server_pid) for one in clients if one.server_pid]
    ages = [transactions[key] for key in held if key in transactions]
    open_s = [age for age in ages if age is not None]
    return App(
        application=application,
        user=user,
        clients=len(clients),
        in_transaction=len(held) - len(ages) + len(open_s),
        waiting=sum(one.is_waiting for one in clients),
        longest_wait_s=max(one.waited_s for one in clients),
        oldest_transaction_s=max(open_s, default=None),
        pools=tuple(sorted({one.pool for one in clients})),
    )


def _of_databases(access: Access, pooler: Pooler, targets: Collection[Target]) -> Apps:
    """Count the sessions of the databases that pools lead to, where the pooler lists no clients."""
    text = _("%(kind)s does not list its clients: the sessions of the databases behind it are counted.")
    notes = [text % {"kind": pooler.get_kind_display()}]
    places = _places(access, targets)
    asked = {(places[one.name].address, one.database): places[one.name] for one in targets if one.name in places}
    rows: list[App] = []
    for (_address, database), place in asked.items():
        try:
            found, hidden = _sessions(place, database)
        except ClusterUnreachable as error:
            notes.append(str(error))
            continue
        rows += found
        notes += [note for note in hidden if note not in notes]
    return Apps(timezone.now(), _in_order(_merged(rows)), False, tuple(notes))


def _merged(rows: Iterable[App]) -> Iterator[App]:
    """Sum up the rows of an application and user in several databases."""

    def key(row: App) -> tuple[str, str]:
        return row.application, row.user

    for (application, user), group in groupby(sorted(rows, key=key), key):
        of_app = list(group)
        yield App(
            application=application,
            user=user,
            clients=sum(row.clients for row in of_app),
            in_transaction=sum(row.in_transaction for row in of_app),
            waiting=sum(row.waiting for row in of_app),
            longest_wait_s=max(row.longest_wait_s for row in of_app),
            oldest_transaction_s=max(filter(None, (row.oldest_transaction_s for row in of_app)), default=None),
        )


def _sessions(place: Place, database: str | None) -> tuple[list[App], list[str]]:
    with sessions.asking(place) as cursor:
        rows = [App(**row) for row in cursor.execute(SESSIONS, {"database": database})]
        role = cursor.execute(SEES_ALL).fetchone() or {}
    if role.get("sees_all", True):
        return rows, []
    text = _("Transactions of other roles are hidden from %(role)s: GRANT pg_monitor TO %(role)s.")
    return rows, [text % {"role": role["role"]}]


def _in_order(rows: Iterable[App]) -> tuple[App, ...]:
    def place(row: App) -> tuple[float, int, float, int, str, str]:
        oldest = row.oldest_transaction_s or 0.0
        return -row.longest_wait_s, -row.waiting, -oldest, -row.clients, row.application, row.user

    return tuple(sorted(rows, key=place))
