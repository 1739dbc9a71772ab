"""Driver of HAProxy: it spreads TCP sessions over several PgBouncers, or over the servers of one cluster."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

from django.utils.translation import gettext as _

from pools.errors import NotLive
from pools.models import Mode, Pool, Pooler
from pools.poolers.adoption import Adoption
from pools.poolers.base import Driver, Problems
from pools.poolers.console_sample import ConsoleSample, FoundEntry, LiveTable
from pools.poolers.haproxy import preflight, proxies, render, session, settings_catalog, stats_page, stats_socket
from pools.poolers.haproxy.columns import COLUMNS
from pools.poolers.haproxy.session import HAProxySession
from pools.poolers.haproxy.stats_socket import MAIN
from pools.poolers.pool_queue import PoolQueue
from pools.poolers.settings_schema import Version

LIVE_COLUMNS = ("svname", "status", "check_status", "last_chk", "scur", "smax", "stot", "econ", "chkfail", "lastchg")


class HAProxy(Driver):
    """The kind `haproxy`; see `pools.poolers.base.Driver`."""

    files = (MAIN,)
    main_file = MAIN
    service = program = "haproxy"
    immediate_shutdown = "SIGTERM"
    usual_mode = Mode.SESSION
    catalog = settings_catalog.CATALOG
    manual = "https://docs.haproxy.org/{0}.{1}/configuration.html"
    words = tuple(stats_socket.WORDS)
    columns = COLUMNS
    can_be_taken_over = clients_wait_uncounted = True
    compared_views = "SHOW STAT, SHOW INFO"
    uncounted = frozenset(
        {"sv_used", "maxwait_ms", "queries_per_s", "transactions_per_s"} | {"query_ms", "transaction_ms", "wait_ms"}
    )  # it does not parse the bytes that it forwards, and keeps no idle connections to servers
    has_console_login = False

    @property
    def connections_source(self) -> str:
        return _("SHOW STAT: sessions of the frontend and of the servers behind it")

    @property
    def figure_sources(self) -> Mapping[str, str]:
        return {
            "cl_waiting": _("qcur of SHOW STAT: sessions in the backend's queue"),
            "cl_active": _("scur of SHOW STAT: sessions of the frontend"),
            "sv_active": _("scur of SHOW STAT: sessions with a server"),
            "received_bytes_per_s": _("Growth of bin in SHOW STAT: bytes from clients"),
            "sent_bytes_per_s": _("Growth of bout in SHOW STAT: bytes to clients"),
        }

    @property
    def pool_notes(self) -> Mapping[str, str]:
        return {
            "size": _("All pools of {pooler} share its maxconn: that is the size"),
            "name": _("The database that clients name: one of the cluster, or a pool of the PgBouncers behind it"),
        }

    def version_of(self, text: str) -> Version:
        """Return (2, 6) for `HAProxy 2.6.12-1+deb12u4`."""
        found = re.search(r"(\d+)\.(\d+)", text)
        return (int(found[1]), int(found[2])) if found else settings_catalog.OLDEST

    def problems(self, spec: Pool) -> Problems:
        """Yield the problems of a pool: it forwards whole sessions, so modes and names are those of the servers."""
        if not spec.pooler.settings.get("servers"):
            if spec.mode != Mode.SESSION:
                yield (
                    "mode",
                    _("HAProxy forwards whole sessions: %(mode)s mode needs PgBouncers behind it (servers)")
                    % {"mode": spec.mode},
                )
            if spec.name != spec.database:
                yield (
                    "name",
                    _("HAProxy forwards the database's name unchanged: name the pool %(database)r")
                    % {"database": spec.database},
                )
        if spec.settings:
            yield "settings", _("HAProxy has no settings per pool: leave them out")
        if spec.through_id:
            yield "through", _("only a PgBouncer can route through a Pgpool-II: leave it empty")
        size = self.usual_size(spec.pooler)
        if spec.size != size:
            yield (
                "size",
                _("all pools of %(pooler)s share its maxconn: use %(size)s, or change maxconn in its settings")
                % {"pooler": spec.pooler, "size": size},
            )

    def clashes(self, spec: Pool) -> Problems:
        """Yield a problem where pools lead to different servers without PgBouncers behind it."""
        if spec.pooler.settings.get("servers"):
            return
        others = spec.pooler.pools.wanted().exclude(pk=spec.pk).exclude(cluster=spec.cluster_id, target=spec.target)
        if other := others.select_related("cluster").first():
            yield "cluster", session.another_route(spec.pooler, other, spec)

    def take_over_obstacle(self, pooler: Pooler) -> str:
        """Return nothing: its files can be taken over."""
        return ""

    def check(self, pooler: Pooler) -> str:
        """Return `HAProxy 2.6.12-1+deb12u4`, from SHOW INFO."""
        return f"HAProxy {stats_socket.info(pooler).get('Version', '')}".strip()

    def connections_of(self, pooler: Pooler) -> int | None:
        """Return its maxconn; 0 where PgBouncers open the server connections."""
        return 0 if pooler.settings.get("servers") else self.usual_size(pooler)

    def only_name(self, pooler: Pooler, database: str) -> str:
        """Return the database's own name, unless PgBouncers behind it know others."""
        return "" if pooler.settings.get("servers") else database

    def usual_size(self, pooler: Pooler) -> int | None:
        """Return its maxconn, which all its pools share; that of the operator's proxy where they go through it."""
        given = str(pooler.settings.get("maxconn") or (pooler.config_file and pooler.facts.get("maxconn")) or "")
        return int(given) if given.isdigit() else settings_catalog.USUAL_MAXCONN

    def facts(self, pooler: Pooler) -> dict[str, int]:
        """Return the limit of the operator's proxy, where pools go through it."""
        front = "" if pooler.is_watched else render.proxies_in(self._main(pooler))[0]
        if front in ("", render.PROXY):
            return {}
        return {"maxconn": proxies.number(proxies.front_of(stats_socket.show(pooler, "stat"), front), "slim")}

    def console_problems(self, folder: str, stats_address: str) -> Problems:
        """Require a folder whose haproxy.cfg names the stats socket, or the address of that socket or of a page."""
        if stats_page.is_page(stats_address):
            yield "stats_address", stats_page.problem_of(stats_address)
        elif stats_address:
            yield "stats_address", stats_socket.problem_of(stats_address)
        elif not folder:
            yield "stats_address", _("give its stats socket or its stats page, or the folder of its haproxy.cfg")

    def entries(self, pooler: Pooler) -> list[FoundEntry]:
        """List the TCP proxies: clients name any database that the servers behind them have.

        On a managed one, the proxy of its pools stands for these.
        """
        ours = "" if pooler.is_watched else self._proxies(pooler)[0]
        fronts = [row for row in stats_socket.show(pooler, "stat") if proxies.is_front(row)]
        return [proxies.entry(row) for row in fronts if row["pxname"] not in (ours, render.PROXY)]

    def words_of(self, pooler: Pooler) -> tuple[str, ...]:
        """Return `stat` alone where only a stats page is known."""
        has_page = pooler.is_watched and stats_page.is_page(pooler.stats_address)
        return ("stat",) if has_page else self.words

    def sample(self, pooler: Pooler) -> ConsoleSample:
        """Read SHOW STAT; figures only where it has a single pool, since it does not know databases."""
        rows = stats_socket.show(pooler, "stat")
        if pooler.is_watched:
            return proxies.sample(rows)
        text = self._main(pooler)
        own, behind = render.proxies_in(text)
        front, back = proxies.front_of(rows, own), proxies.back_of(rows, behind)
        names = [entry.name for entry in render.entries(text).values()]
        others = proxies.sample([row for row in rows if row["pxname"] not in (own, render.PROXY)], rows)
        if len(names) != 1 or not front or not back:
            return others
        return proxies.of_proxy(names[0], front, back, others)

    def queue(self, pooler: Pooler, name: str) -> PoolQueue:
        """Read the queue of the backend, and the limits of its servers and of the frontend."""
        rows, (front, back) = stats_socket.show(pooler, "stat"), (name, name)
        if not pooler.is_watched:
            text = self._main(pooler)
            if name in {entry.name for entry in render.entries(text).values()}:
                front, back = render.proxies_in(text)
        if not proxies.front_of(rows, front):
            text = _("pooler %(pooler)s has no pool %(name)s: it has to be applied first")
            raise NotLive(text % {"pooler": pooler, "name": name})
        return proxies.queue(rows, name, front, back)

    def live_table(self, sample: ConsoleSample) -> LiveTable:
        """Build the table of the servers of SHOW STAT, with the result of their last health check."""
        shown = sample.rows.get("stat", [])
        is_ours = any(row["pxname"] == render.PROXY for row in shown)
        servers = [row for row in shown if not is_ours or row["pxname"] == render.PROXY]
        servers = [row for row in servers if row["svname"] not in ("FRONTEND", "BACKEND")]
        rows = [[row.get(column) for column in LIVE_COLUMNS] for row in servers]
        return LiveTable(_("SHOW STAT: servers and their health checks"), LIVE_COLUMNS, 4, rows)

    def show(self, pooler: Pooler, word: str) -> list[dict[str, object]]:
        return stats_socket.show(pooler, word)

    def compare(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[UUID, str]:
        """Compare the digest of the worker's file, its servers and its limit: they concern all pools."""
        text = texts.get(MAIN, "")
        live, wanted = stats_socket.digest(pooler), render.digest_in(text)
        faults = [] if live == wanted else [_("the worker runs with a file other than the applied one")]
        faults += session.differences(pooler, text)
        return dict.fromkeys(render.entries(text), f"HAProxy: {faults[0]}") if faults else {}

    def probe(self, pool: Pool, role: str, password: str) -> None:
        session.probe(pool, role, password)

    def client_auth_note(self, pool: Pool, texts: Mapping[str, str], notes: Sequence[str]) -> str:
        return _("HAProxy forwards logins unchanged: the servers behind it check the client's password.")

    def start_error(self, pooler: Pooler, texts: Mapping[str, str]) -> str:
        """Run `haproxy -c` on a copy of the files."""
        return preflight.start_error(pooler, texts)

    def adoption(self, settled: Mapping[str, str], found: Mapping[str, str]) -> Adoption:
        """Refuse all edits of the panel's part, which is rendered only from settings and pools."""
        adoption = Adoption()
        if render.ours(settled.get(MAIN, "")) != render.ours(found.get(MAIN, "")):
            adoption.refuse(
                MAIN, 0, _("the panel's part is rendered from its settings and pools: change those instead")
            )
        return adoption

    @contextmanager
    def open(self, pooler: Pooler) -> Iterator[HAProxySession]:
        info = stats_socket.info(pooler)
        text = f"HAProxy {info.get('Version', '')}".strip()
        yield HAProxySession(pooler, self.version_of(text), text, info)

    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        return render.masked(texts)

    def ours(self, name: str, text: str) -> str:
        return render.ours(text)

    def _proxies(self, pooler: Pooler) -> tuple[str, str]:
        text = self._main(pooler)
        return render.proxies_in(text) if render.entries(text) else ("", "")

    def _main(self, pooler: Pooler) -> str:
        return (stats_socket.main_file(pooler) or b"").decode(errors="replace")


DRIVER = HAProxy()
