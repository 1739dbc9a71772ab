"""Pgpool-II as a kind of pooler: sessions only, one cluster, and pools that are what pool_hba.conf lets in."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from uuid import UUID

import psutil
import psycopg
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.models import Mode, Pool, Pooler
from pools.poolers import first_query
from pools.poolers.admin_commands import Column
from pools.poolers.adoption import Adoption
from pools.poolers.base import Driver, Problems
from pools.poolers.console_sample import ConsoleSample, FoundEntry, LiveTable
from pools.poolers.faults import Rejected, Unproved
from pools.poolers.nodes import NodeAdmin
from pools.poolers.pgpool import (
    child_processes,
    config_builder,
    hba_access,
    manual_edits,
    node_admin,
    preflight,
    queue_reading,
    render,
    session,
    settings_catalog,
    sql,
    verify,
)
from pools.poolers.pgpool.columns import COLUMNS
from pools.poolers.pgpool.features import FEATURES
from pools.poolers.pgpool.session import PgpoolSession
from pools.poolers.pool_queue import PoolQueue
from pools.poolers.pooler_login import reason_of
from pools.poolers.server_connections import HeldServers
from pools.poolers.settings_schema import Setting, Version

UNCOUNTED = frozenset({"cl_waiting", "sv_used", "maxwait_ms", "queries_per_s", "transactions_per_s"})
UNCOUNTED |= {"received_bytes_per_s", "sent_bytes_per_s", "query_ms", "transaction_ms", "wait_ms"}
LIVE_COLUMNS = ("database", "clients", "servers in use", "servers kept idle")  # keys of the live page's JSON


class Pgpool(Driver):
    """The kind `pgpool`; see `pools.poolers.base.Driver`."""

    files: tuple[str, ...] = config_builder.ALL_FILES
    main_file = render.MAIN
    immediate_shutdown = "pgpool -m fast stop"
    usual_mode = Mode.SESSION
    catalog: tuple[Setting, ...] = settings_catalog.CATALOG
    manual = "https://www.pgpool.net/docs/{0}{1}/en/html/"
    words: tuple[str, ...] = sql.WORDS
    columns: Mapping[str, Column] = COLUMNS
    servers = HeldServers(
        "pool_pools",
        "pool_backendpid",
        "username",
        gettext_lazy("it closes connections unused for its connection_life_time, and all when it restarts"),
    )
    uncounted = UNCOUNTED  # waiting clients are in the kernel's queue, and it counts no queries by database
    service, control_port = "pgpool2", "PCP port"
    program, port_setting = "pgpool", "port"
    leads_to_all_nodes = is_chainable = takes_experiments = serves_one_cluster = True
    node_admin: NodeAdmin | None = node_admin
    features = FEATURES
    can_be_taken_over = clients_wait_uncounted = True
    compared_views = "PGPOOL SHOW ALL, SHOW POOL_NODES"
    shares_connections = True  # its children hold the connections of all databases
    keeps_every_password = True  # it knows passwords only from pool_passwd

    @property
    def connections_source(self) -> str:
        return _("SHOW POOL_POOLS, the panel's own left out")

    @property
    def figure_sources(self) -> Mapping[str, str]:
        return {
            "cl_active": _("SHOW POOL_POOLS: children that serve a client now"),
            "sv_active": _("SHOW POOL_POOLS: the connections to the first backend that serve them"),
            "sv_idle": _("SHOW POOL_POOLS: kept for the next client of the same child"),
        }

    @property
    def pool_notes(self) -> Mapping[str, str]:
        return {
            "size": _("All pools of {pooler} share its children (num_init_children): that is the size"),
            "name": _("On a Pgpool-II it is the name of the database"),
        }

    def version_of(self, text: str) -> Version:
        """Return (4, 3) for `Pgpool-II 4.3.5`."""
        found = re.search(r"(\d+)\.(\d+)", text)
        return (int(found[1]), int(found[2])) if found else settings_catalog.OLDEST

    def problems(self, spec: Pool) -> Problems:
        """Yield the problems of a pool: it keeps connections by database and user, in session mode only."""
        if spec.mode != Mode.SESSION:
            yield (
                "mode",
                _("Pgpool-II keeps a server connection for a whole session: %(mode)s mode needs a PgBouncer")
                % {"mode": spec.mode},
            )
        if spec.name != spec.database:
            yield (
                "name",
                _("Pgpool-II has no names of its own for databases: name the pool %(database)r")
                % {"database": spec.database},
            )
        if spec.settings:
            yield "settings", _("Pgpool-II has no settings per pool: leave them out")
        if spec.through_id:
            yield "through", _("a Pgpool-II routes to its cluster itself: only a PgBouncer can route through one")
        for field, value in (("database", spec.database), ("user", spec.user)):
            if value and (message := hba_access.name_problem(value)):
                yield field, message
        yield from _size_problems(spec)
        if spec.pooler.pcp_port is None:
            yield "pooler", _("%(pooler)s can't be reloaded: give it its PCP port") % {"pooler": spec.pooler}

    def clashes(self, spec: Pool) -> Problems:
        """Yield a problem where the pools lead to another cluster: it serves one."""
        others = spec.pooler.pools.wanted().exclude(pk=spec.pk).exclude(cluster=spec.cluster_id)
        if first := others.select_related("cluster").first():
            yield "cluster", config_builder.one_cluster(spec.pooler, first.cluster, spec)

    def check(self, pooler: Pooler) -> str:
        """Return `Pgpool-II 4.3.5`, from SHOW POOL_VERSION; the login is a role of the PostgreSQL behind it."""
        with sql.open(pooler) as opened:
            return sql.version(opened)

    def is_shutting_down(self, process: psutil.Process) -> bool:
        """Return whether its PCP process is gone, and others are left: its sockets stay open until the last is."""
        titles = [" ".join(child.cmdline()) for child in process.children()]
        return bool(titles) and not any("PCP" in title for title in titles)

    def take_over_obstacle(self, pooler: Pooler) -> str:
        """Return nothing: its files can be taken over."""
        return ""

    def facts(self, pooler: Pooler) -> dict[str, int]:
        """Return the number of its children and of the connections of each, from PGPOOL SHOW ALL."""
        with sql.open(pooler) as opened:
            live = sql.settings(opened)
        return {name: int(live[name]) for name in sql.CAPACITY if live.get(name, "").isdigit()}

    def entries(self, pooler: Pooler) -> list[FoundEntry]:
        """List the databases of the servers behind a watched one: clients name these, since it has no names of its own.

        All share its children. What clients can name on a managed one are its pools; on one that was taken over, the
        other databases too, as before.
        """
        if not pooler.is_watched and not pooler.config_file:
            return []
        with sql.open(pooler) as opened:
            return sql.entries(opened, pooler.admin_user)

    def connections_of(self, pooler: Pooler) -> int | None:
        """Return num_init_children × max_pool, the most connections to its cluster; None when unknown."""
        figures = [_capacity(pooler, name) for name in sql.CAPACITY]
        return None if None in figures else (figures[0] or 0) * (figures[1] or 0)

    def only_name(self, pooler: Pooler, database: str) -> str:
        """Return the database's own name: clients name the database of the server."""
        return database

    def usual_size(self, pooler: Pooler) -> int | None:
        """Return the only size that its pools can have: all share its children."""
        children: int | None = pooler.facts.get("num_init_children")
        return children

    def sample(self, pooler: Pooler) -> ConsoleSample:
        """Read SHOW POOL_POOLS by database, without the panel's own session."""
        rows = sql.others(sql.show(pooler, "pool_pools"), pooler.admin_user)
        return ConsoleSample(sql.figures(rows), {}, {"pool_pools": rows})

    def queue(self, pooler: Pooler, name: str) -> PoolQueue:
        return queue_reading.read(pooler, name)

    def live_table(self, sample: ConsoleSample) -> LiveTable:
        """SHOW POOL_POOLS, summed up by database."""
        rows = [[name, one.cl_active, one.sv_active, one.sv_idle] for name, one in sorted(sample.figures.items())]
        return LiveTable(_("SHOW POOL_POOLS, by database"), LIVE_COLUMNS, 1, rows)

    def show(self, pooler: Pooler, word: str) -> list[dict[str, object]]:
        """Return the rows of a SHOW command; none for a word of another kind."""
        return sql.show(pooler, word) if word in sql.STATEMENTS else []

    def compare(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[UUID, str]:
        """PGPOOL SHOW ALL against the panel's settings: what differs concerns all pools alike."""
        written = render.values_in(render.ours(texts.get(render.MAIN, "")))
        with sql.open(pooler) as opened:
            known = settings_catalog.by_name(self.version_of(sql.version(opened)))
            wrong = verify.differences(sql.settings(opened), written, known)
        for name, (live, wanted) in wrong.items():
            if not verify.waits_for_restart(name, known):
                fault = _("the pooler has %(name)s = %(live)r, not %(wanted)r") % {
                    "name": name,
                    "live": live,
                    "wanted": wanted,
                }
                return {one.pool: fault for one in hba_access.read(texts.get(render.HBA, ""))}
        return {}

    def probe(self, pool: Pool, role: str, password: str) -> None:
        """Take one of its children for a query; one whose children are all taken is unproved."""
        try:
            first_query.run(partial(sql.connect, pool.pooler, pool.database, role, password))
        except psycopg.Error as error:
            if sql.is_full(error):
                raise Unproved(reason_of(error)) from None
            raise Rejected(reason_of(error), pool.pk) from None

    def client_auth_note(self, pool: Pool, texts: Mapping[str, str], notes: Sequence[str]) -> str:
        return _("Each login is hashed twice, by the client and by the child that serves it: towards the server too.")

    def start_error(self, pooler: Pooler, texts: Mapping[str, str]) -> str:
        """Start a trial instance on a copy of them."""
        return preflight.start_error(pooler, self.version_of(pooler.server_version), texts)

    def changes(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """Compare the operator's part with the live settings."""
        return list(preflight.reload_changes(pooler, self.version_of(pooler.server_version), texts))

    def adoption(self, settled: Mapping[str, str], found: Mapping[str, str]) -> Adoption:
        return manual_edits.adoption(settled, found)

    @contextmanager
    def open(self, pooler: Pooler) -> Iterator[PgpoolSession]:
        yield session.open(pooler, self.version_of)

    def catch_up(self, pooler: Pooler) -> None:
        """Those of its children that serve nobody any more."""
        pooler.leave_behind(child_processes.reload(pooler, pooler.children_behind))

    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        return render.masked(texts)

    def ours(self, name: str, text: str) -> str:
        return text if name in config_builder.GIVEN else render.lasting(text)


def _capacity(pooler: Pooler, name: str) -> int | None:
    """Return the larger of the live value and the one after the next restart."""
    figures = [pooler.facts.get(name), pooler.settings.get(name)]
    known = [int(figure) for figure in figures if str(figure or "").isdigit()]
    return max(known, default=None)


def _size_problems(spec: Pool) -> Problems:
    children = spec.pooler.facts.get("num_init_children")
    if children and spec.size != children:
        yield (
            "size",
            _(
                "Pgpool-II can't set a pool's connections apart, all share its %(children)s children: use "
                "%(children)s, or change num_init_children in the settings of pooler %(pooler)s"
            )
            % {"children": children, "pooler": spec.pooler},
        )


DRIVER = Pgpool()
