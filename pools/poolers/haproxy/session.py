"""One apply to an HAProxy: its master starts a new worker, while the old one serves its sessions.

The file sets an environment variable, by which the new worker proves that it has read this file.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from uuid import UUID

import psycopg
from django.utils.translation import gettext as _

from pools.clusters import endpoints, topology
from pools.clusters.cluster_index import ClusterIndex
from pools.config_files import pooler_files
from pools.errors import ClusterUnreachable, HostUnreachable, PoolerUnreachable
from pools.models import NodeRole, Pool, Pooler, PoolSet, PoolState, WaitingSetting
from pools.poolers import direct_login, first_query, local_process, settings_schema
from pools.poolers.faults import ClusterBusy, Rejected, Unproved
from pools.poolers.haproxy import master_process, operators_config, preflight, proxies, render, stats_socket
from pools.poolers.haproxy.operators_config import BACKS, Section
from pools.poolers.haproxy.render import Address, Entry
from pools.poolers.haproxy.settings_catalog import CATALOG, addresses_in
from pools.poolers.haproxy.stats_socket import MAIN
from pools.poolers.pooler_login import connected, reason_of
from pools.poolers.session import Draft, Files, Progress
from pools.poolers.settings_schema import Scope, Version

CHECKED_WITHIN_S = 6
POLL_S = 0.1
CONNECT_TIMEOUT_S = 5
MOST_LOGINS = 200


class HAProxySession:
    """See `pools.poolers.base.Session`; it keeps no connection: the Runtime API takes one command per connection."""

    def __init__(self, pooler: Pooler, version: Version, version_text: str, info: Mapping[str, str]) -> None:
        self.pooler, self.version, self.version_text = pooler, version, version_text
        self.most, self.worker = int(info.get("Maxconn", 0)), int(info.get("Pid") or 0)
        self.pools: dict[UUID, Pool] = {}
        self.servers: list[Address] = []
        self.read: dict[str, str] = {}  # texts of all files by path, where the main one is known
        self.main = MAIN
        self.proxies = (render.PROXY, render.PROXY)  # of the pools: frontend and backend

    def draft(self, pools: PoolSet, settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render the panel's part of haproxy.cfg."""
        disk = pooler_files.read(self.pooler, [MAIN])
        if disk[MAIN] is None:
            params = {"folder": self.pooler.config_dir, "file": MAIN}
            raise Rejected(_("config_dir %(folder)s has no %(file)s: register the folder that has it") % params)
        self.pools = {pool.pk: pool for pool in pools}
        old = _text(disk)
        before = render.entries(settled.get(MAIN, ""))
        pending = [pool for pool in self.pools.values() if pool.state == PoolState.PENDING]
        entries = {pk: entry for pk, entry in before.items() if pk in self.pools}
        entries |= {pool.pk: Entry.of_pool(pool) for pool in pending}
        settings = self._settings(settled)
        self.servers = self._servers(settings)
        text = render.file(render.kept(old), self._body(settings, entries, self._operators(render.kept(old))))
        self.proxies = render.proxies_in(text)
        back = old if trust_disk else render.kept(old) + (render.MARK + render.ours(settled.get(MAIN, "")))
        if not render.digest_in(back):  # a worker inherits the old digest where the file sets none
            back = render.file(render.kept(back), "")
        rerouted = render.servers_in(text) != render.servers_in(settled.get(MAIN, ""))
        moved = {pool.key for pool in pending if rerouted or before.get(pool.pk) != Entry.of_pool(pool)}
        return Draft(
            texts={MAIN: text},
            before={MAIN: back.encode(errors="surrogateescape")},
            changed=frozenset(pool.key for pool in pending),
            moved=frozenset(moved),
            settings_changed=self.pooler.settings_state == PoolState.PENDING,
        )

    def preflight(self, draft: Draft, progress: Progress) -> None:
        """Log in to the servers without HAProxy, and let the program check the file."""
        self._refuse_large(int(render.settings_in(draft.texts[MAIN]).get("maxconn", 0)))
        master_process.find(self.pooler)
        moved = [pool for pool in self.pools.values() if pool.key in draft.moved]
        for pool in moved[:MOST_LOGINS]:
            progress.renew()
            self._log_in_directly(pool)
        progress.step("preflight passed", f"{direct_login.login_count(len(moved))}; {self._checked(draft)}")

    def _refuse_large(self, maxconn: int) -> None:
        if maxconn > self.most:
            raise Rejected(
                _(
                    "maxconn %(maxconn)s is more than the %(most)s of the whole process: use at most %(most)s, "
                    "or raise maxconn in the global section of %(file)s and restart HAProxy"
                )
                % {"maxconn": maxconn, "most": self.most, "file": MAIN},
                settings=True,
            )

    def _checked(self, draft: Draft) -> str:
        program = preflight.find(self.pooler, self.version_text)
        if program is None:
            return local_process.why_no_trial(self.pooler, "haproxy", self.version_text)
        if fault := preflight.fault_of(self.pooler, program, self.read | {self.main: draft.texts[MAIN]}):
            raise Rejected(
                _("%(program)s -c refuses the files: %(fault)s") % {"program": program, "fault": fault},
                settings=draft.settings_changed,
            )
        return _("%(program)s -c accepts the files") % {"program": program}

    def go_live(self, files: Files, progress: Progress) -> None:
        """Write the file and have the master start a worker on it."""
        pooler_files.replace(self.pooler, files)
        progress.renew()
        master_process.reload(self.pooler)

    def read_back(self, files: Files) -> None:
        """Wait until the worker that answers has read this file, then compare servers and limit with it."""
        text = _text(files)
        wanted, deadline = render.digest_in(text), time.monotonic() + master_process.LIVE_WITHIN_S
        while (live := stats_socket.digest(self.pooler)) != wanted:
            if time.monotonic() > deadline:
                raise Rejected(
                    _(
                        "%(seconds)d s after the reload, the worker still has the file %(live)s, not %(wanted)s: see "
                        "HAProxy's log for why the new worker did not start"
                    )
                    % {"seconds": master_process.LIVE_WITHIN_S, "live": live or "–", "wanted": wanted},
                    settings=True,
                )
            time.sleep(POLL_S)
        if faults := differences(self.pooler, text):
            raise Rejected(_("after the reload: %(fault)s") % {"fault": faults[0]}, settings=True)

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Log in through HAProxy to each changed pool, and record the health of the servers."""
        changed = [pool for pool in self.pools.values() if pool.key in draft.changed]
        for pool in changed[:MOST_LOGINS]:
            progress.renew()
            self._log_in(pool)
            progress.step("logged in", direct_login.logged_in_through(pool))
        if len(changed) > MOST_LOGINS:
            progress.step("read back only", direct_login.skipped_note(len(changed) - MOST_LOGINS))
        progress.step("health checks", ", ".join(self._health()) or _("no servers"))

    def processes_read_back(self) -> list[int]:
        """Return none: it starts its own processes."""
        return []

    def start_processes(self, progress: Progress) -> None:
        """Start none."""

    def restarts_needed(self) -> list[WaitingSetting]:
        """Return nothing: a new worker reads all that the panel writes."""
        return []

    def _settings(self, settled: Mapping[str, str]) -> dict[str, str]:
        """Return the requested settings while they are pending, else the live ones."""
        if self.pooler.settings_state != PoolState.PENDING:
            return render.settings_in(settled.get(MAIN, ""))
        for _name, problem in settings_schema.problems(CATALOG, Scope.PROGRAM, self.pooler.settings, self.version):
            raise Rejected(problem, settings=True)
        return {name: str(value) for name, value in self.pooler.settings.items()}

    def _servers(self, settings: Mapping[str, str]) -> list[Address]:
        """Return the given PgBouncers, else the servers of the cluster that the pools lead to."""
        if given := settings.get("servers"):
            return addresses_in(given)
        routes = {pool.route: pool for pool in self.pools.values()}
        if len(routes) > 1:
            one, *others = routes.values()
            raise Rejected(another_route(self.pooler, one, others[0]), *(pool.pk for pool in others))
        return [at for pool in routes.values() for at in topology.addresses(pool.cluster, NodeRole(pool.target))]

    def _operators(self, kept: str) -> list[Section]:
        """Return the operator's sections: of all files where the panel knows the main one, else of it alone."""
        texts = {MAIN: kept}
        if self.pooler.config_file:
            found = operators_config.read(self.pooler, self.pooler.config_file, self.worker)
            texts = {one.path: kept if one.path == found.main else one.text for one in found.configs}
            self.read, self.main = texts, found.main
        return operators_config.sections(texts)

    def _body(self, settings: Mapping[str, str], entries: Mapping[UUID, Entry], operators: Sequence[Section]) -> str:
        if there := operators_config.serving(operators, self.pooler.port):
            proxies = operators_config.through(operators, self.pooler.port)
            if not proxies or not self._leads_alike(proxies[1], operators):
                raise Rejected(self._taken_port(there[0].name), *self.pools)
            if set(settings) - {"servers"}:
                text = _("proxy %(name)s of the operator's part has the pools of %(pooler)s: change its settings there")
                raise Rejected(text % {"name": proxies[0], "pooler": self.pooler}, settings=True)
            return render.body_through(*proxies, settings, entries)
        address = (self.pooler.host, self.pooler.port)
        return render.body(address, self.pooler.admin_user, settings, entries, self.servers)

    def _leads_alike(self, backend: str, operators: Sequence[Section]) -> bool:
        """Return whether the operator's backend has servers of the pools' cluster alone, or the given PgBouncers."""
        own = {at for one in operators if one.kind in BACKS and one.name == backend for at in one.servers}
        index, cluster_ids = ClusterIndex.read(), {pool.cluster_id for pool in self.pools.values()}
        found = (index.find(self.pooler, *at) for at in own - set(self.servers))
        return not self.pools or all(one and one.pk in cluster_ids for one in found)

    def _taken_port(self, name: str) -> str:
        return _(
            "proxy %(name)s of the operator's part listens on port %(port)d of %(pooler)s already, and leads "
            "elsewhere: HAProxy would spread clients over both. Give the pooler another port, or lead the proxy to the "
            "servers of the pools"
        ) % {"name": name, "port": self.pooler.port, "pooler": self.pooler}

    def _log_in_directly(self, pool: Pool) -> None:
        """Require a login on at least one server; health checks find those that do not answer."""
        refused: list[ClusterUnreachable] = []
        for server in self.servers:
            try:
                self._reach(pool, server)
            except ClusterUnreachable as error:
                if error.cause not in direct_login.NOBODY_THERE:
                    raise Rejected(_("pool %(pool)s: %(error)s") % {"pool": pool, "error": error}, pool.pk) from error
                refused.append(error)
            else:
                return
        if refused:
            raise ClusterBusy({pool.route: direct_login.report_unreachable(pool, refused[0])})

    def _reach(self, pool: Pool, server: Address) -> None:
        if not self.pooler.settings.get("servers"):
            password = pool.cluster.password_of(pool.login) or ""
            direct_login.connected(pool, pool.login, password, server).close()
            return
        try:
            _session(pool, server).close()
        except psycopg.Error as error:
            params = {"server": topology.written(server), "pool": pool.name, "error": error}
            raise Rejected(_("%(server)s refuses pool %(pool)s: %(error)s") % params, pool.pk) from None

    def _log_in(self, pool: Pool) -> None:
        deadline = time.monotonic() + CONNECT_TIMEOUT_S
        while True:
            try:
                with _through(pool, pool.login, pool.cluster.password_of(pool.login) or "") as session:
                    session.execute(b"SELECT 1")
            except HostUnreachable:
                raise
            except (psycopg.Error, PoolerUnreachable) as error:
                if time.monotonic() > deadline:
                    raise Rejected(direct_login.failed_through(pool, str(error).strip()), pool.pk) from None
                time.sleep(POLL_S)
            else:
                return

    def _health(self) -> Iterator[str]:
        """Yield each server with the result of its first check, once all had one."""
        deadline = time.monotonic() + CHECKED_WITHIN_S
        while True:
            rows = [row for row in stats_socket.show(self.pooler, "stat") if row["pxname"] == self.proxies[1]]
            servers = [row for row in rows if row["svname"] not in ("FRONTEND", "BACKEND")]
            done = all(str(row.get("check_status") or "*")[0] not in "*I" for row in servers)
            if done or time.monotonic() > deadline:
                yield from (f"{row['svname']} {row['status']} ({row.get('check_status', '')})" for row in servers)
                return
            time.sleep(POLL_S)


def another_route(pooler: Pooler, one: Pool, other: Pool) -> str:
    """Return why two pools can't be on one HAProxy."""
    return _(
        "pooler %(pooler)s is an HAProxy, which does not know databases and leads all its pools to the same servers: "
        "pool %(one)s routes to cluster %(cluster)s (%(target)s), pool %(other)s to cluster %(other_cluster)s "
        "(%(other_target)s); register another HAProxy for it, or give the PgBouncers behind it (servers)"
    ) % {
        "pooler": pooler,
        "one": one,
        "target": one.target,
        "cluster": one.cluster,
        "other": other,
        "other_target": other.target,
        "other_cluster": other.cluster,
    }


def differences(pooler: Pooler, text: str) -> list[str]:
    """List how the worker differs from the file, apart from the digest. Raises `PoolerUnreachable`."""
    rows = [row for row in stats_socket.show(pooler, "stat") if row["pxname"] == render.PROXY]
    live = {str(row["svname"]): row for row in rows}
    if not live or not render.has_own_proxy(text):
        missing = _("the worker has no frontend %(name)s") % {"name": render.PROXY}
        return [missing] if render.has_own_proxy(text) else []
    wanted = render.servers_in(text)
    faults = [_("server %(name)s is missing") % {"name": name} for name in wanted if name not in live]
    faults += [
        _("server %(name)s is still there") % {"name": name}
        for name in live
        if name not in {*wanted, "FRONTEND", "BACKEND"}
    ]
    limit = re.search(r"^    maxconn (\d+)$", render.ours(text), re.MULTILINE)
    found = str(live["FRONTEND"].get("slim", "")) if "FRONTEND" in live else ""
    if limit and found != limit[1]:
        faults.append(_("maxconn is %(live)s, not %(wanted)s") % {"live": found or "–", "wanted": limit[1]})
    return faults


def probe(pool: Pool, role: str, password: str) -> None:
    """Run a client's first query; raises `Rejected`, and `Unproved` while all its connections are taken."""
    try:
        first_query.run(partial(_through, pool, role, password))
    except psycopg.Error as error:
        text = (stats_socket.main_file(pool.pooler) or b"").decode(errors="replace")
        front = proxies.front_of(stats_socket.show(pool.pooler, "stat"), render.proxies_in(text)[0])
        if front.get("scur") == front.get("slim"):
            raise Unproved(_("all %(count)s connections are taken") % {"count": front.get("slim")}) from None
        raise Rejected(reason_of(error), pool.pk) from None


def _through(pool: Pool, role: str, password: str) -> psycopg.Connection:
    """Log in to a pool as its clients do; raises what psycopg raises, and `PoolerUnreachable`."""
    return connected(pool.pooler, lambda address: _open(pool, (address["host"], address["port"]), role, password))


def _session(pool: Pool, at: Address) -> psycopg.Connection:
    """Log in to a pool as its user at some address; raises what psycopg raises."""
    return _open(pool, at, pool.login, pool.cluster.password_of(pool.login) or "")


def _open(pool: Pool, at: Address, role: str, password: str) -> psycopg.Connection:
    return psycopg.connect(
        host=at[0],
        port=at[1],
        dbname=pool.name,
        user=role,
        password=password,
        application_name="pooldeck",
        connect_timeout=CONNECT_TIMEOUT_S,
        gssencmode="disable",
        autocommit=True,
        prepare_threshold=None,
        **endpoints.refusing_cleartext(is_chosen=False),
    )


def _text(files: Files) -> str:
    return (files.get(MAIN) or b"").decode(errors="surrogateescape")
