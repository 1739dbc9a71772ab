"""One apply onto an HAProxy: its master is told by SIGUSR2 to start a new worker, and the old one serves its sessions.

The new worker proves which file it has read by an environment variable that stands in it.
"""

import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from pools.clusters import endpoints, topology
from pools.config_files import atomic_write
from pools.errors import ClusterUnreachable
from pools.models import NodeRole, Pool, Pooler, PoolSet, PoolState
from pools.poolers import direct_login, settings_schema, trial_instance
from pools.poolers.base import ClusterBusy, Draft, Files, Progress, Rejected
from pools.poolers.haproxy import preflight, render, stats_socket
from pools.poolers.haproxy.render import Address, Entry
from pools.poolers.haproxy.settings_catalog import CATALOGUE, addresses_in
from pools.poolers.haproxy.stats_socket import MAIN
from pools.poolers.settings_schema import Scope, Version

LIVE_WITHIN_S = 10
CHECKED_WITHIN_S = 6
POLL_S = 0.1
CONNECT_TIMEOUT_S = 5
MOST_LOGINS = 200
PROC = Path("/proc")


class HAProxySession:
    """See `pools.poolers.base.Session`; it keeps no connection, the Runtime API answers one command on each."""

    def __init__(self, pooler: Pooler, version: Version, version_text: str, most: int) -> None:
        self.pooler, self.version, self.version_text, self.most = pooler, version, version_text, most
        self.pools: dict[UUID, Pool] = {}
        self.servers: list[Address] = []

    def draft(self, pools: PoolSet, settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render the panel's part of haproxy.cfg."""
        disk = atomic_write.read(self.pooler.config_dir, [MAIN])
        if disk[MAIN] is None:
            raise Rejected(f"config_dir {self.pooler.config_dir} must hold {MAIN}: register the folder it lies in")
        self.pools = {pool.pk: pool for pool in pools}
        old = _text(disk)
        before = render.entries(settled.get(MAIN, ""))
        pending = [pool for pool in self.pools.values() if pool.state == PoolState.PENDING]
        entries = {pk: entry for pk, entry in before.items() if pk in self.pools}
        entries |= {pool.pk: Entry.of_pool(pool) for pool in pending}
        settings = self._settings(settled)
        self.servers = self._servers(settings)
        text = render.file(render.kept(old), self._body(settings, entries))
        back = old if trust_disk else render.kept(old) + (render.MARK + render.ours(settled.get(MAIN, "")))
        if not render.digest_in(back):  # a worker inherits the digest of before where the file names none
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

    def rehearse(self, draft: Draft, progress: Progress) -> None:
        """Log in to the servers without HAProxy, and let the program check the file."""
        maxconn = int(render.settings_in(draft.texts[MAIN]).get("maxconn", 0))
        if maxconn > self.most:
            raise Rejected(
                f"maxconn {maxconn} is more than the {self.most} of the whole process: use at most {self.most}, or "
                f"raise maxconn in the global section of {MAIN} and restart HAProxy",
                settings=True,
            )
        master_of(self.pooler)
        moved = [pool for pool in self.pools.values() if pool.key in draft.moved]
        for pool in moved[:MOST_LOGINS]:
            progress.renew()
            self._log_in_directly(pool)
        program = preflight.find(self.pooler, self.version_text)
        if program and (fault := preflight.fault_of(program, draft.texts, self.pooler.config_dir)):
            raise Rejected(f"{program} -c refuses the files: {fault}", settings=draft.settings_changed)
        checked = (
            f"{program} -c takes the files" if program else trial_instance.not_found(self.pooler, self.version_text)
        )
        progress.step("rehearsed", f"{len(moved)} direct logins to the pools' databases; {checked}")

    def go_live(self, files: Files, progress: Progress) -> None:
        """Write the file and have the master start a worker on it."""
        atomic_write.replace(self.pooler.config_dir, files)
        progress.renew()
        master = master_of(self.pooler)
        try:
            os.kill(master, signal.SIGUSR2)
        except (PermissionError, ProcessLookupError) as error:
            raise Rejected(f"the master process {master} of {self.pooler} can't be told to reload: {error}") from None

    def read_back(self, files: Files) -> None:
        """Wait until the worker that answers has read this file, then compare servers and limit with it."""
        text = _text(files)
        wanted, deadline = render.digest_in(text), time.monotonic() + LIVE_WITHIN_S
        while (live := stats_socket.digest(self.pooler)) != wanted:
            if time.monotonic() > deadline:
                raise Rejected(
                    f"{LIVE_WITHIN_S} s after the reload the worker still has the file {live or 'of before'}, not "
                    f"{wanted}: HAProxy's log says why the new worker did not start",
                    settings=True,
                )
            time.sleep(POLL_S)
        if faults := differences(self.pooler, text):
            raise Rejected(f"after the reload {faults[0]}", settings=True)

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Log in through HAProxy to each changed pool, and note what the health checks say of the servers."""
        changed = [pool for pool in self.pools.values() if pool.key in draft.changed]
        for pool in changed[:MOST_LOGINS]:
            progress.renew()
            self._log_in(pool)
            progress.step("logged in", f"{pool.login} through {pool.name}")
        if len(changed) > MOST_LOGINS:
            progress.step("read back only", f"{len(changed) - MOST_LOGINS} more changed pools were not logged in to")
        progress.step("health checks", ", ".join(self._health()) or "no servers")

    def restarts_needed(self) -> list[dict[str, str]]:
        """None: a new worker reads all that the panel writes."""
        return []

    def _settings(self, settled: Mapping[str, str]) -> dict[str, str]:
        """Those that are asked for; while nobody asks, those that are live."""
        if self.pooler.settings_state != PoolState.PENDING:
            return render.settings_in(settled.get(MAIN, ""))
        for _, problem in settings_schema.problems(CATALOGUE, Scope.PROGRAM, self.pooler.settings, self.version):
            raise Rejected(problem, settings=True)
        return {name: str(value) for name, value in self.pooler.settings.items()}

    def _servers(self, settings: Mapping[str, str]) -> list[Address]:
        """The PgBouncers that were given, else the servers of the cluster that the pools lead to."""
        if given := settings.get("servers"):
            return addresses_in(given)
        routes = {pool.route: pool for pool in self.pools.values()}
        if len(routes) > 1:
            one, *others = routes.values()
            raise Rejected(another_route(self.pooler, one, others[0]), *(pool.pk for pool in others))
        return [at for pool in routes.values() for at in topology.addresses(pool.cluster, NodeRole(pool.target))]

    def _body(self, settings: Mapping[str, str], entries: Mapping[UUID, Entry]) -> str:
        address = (self.pooler.host, self.pooler.port)
        return render.body(address, self.pooler.admin_user, settings, entries, self.servers)

    def _log_in_directly(self, pool: Pool) -> None:
        """Some server must let the pool's user in; those that do not answer are the health checks' to find."""
        refused: list[ClusterUnreachable] = []
        for server in self.servers:
            try:
                self._reach(pool, server)
            except ClusterUnreachable as error:
                if error.cause not in direct_login.NOBODY_THERE:
                    raise Rejected(f"pool {pool} was not tried: {error}", pool.pk) from error
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
            raise Rejected(f"{server[0]}:{server[1]} refuses pool {pool.name}: {error}", pool.pk) from None

    def _log_in(self, pool: Pool) -> None:
        deadline = time.monotonic() + CONNECT_TIMEOUT_S
        while True:
            try:
                with _session(pool, (self.pooler.host, self.pooler.port)) as session:
                    session.execute(b"SELECT 1")
            except psycopg.Error as error:
                if time.monotonic() > deadline:
                    why = str(error).strip()
                    raise Rejected(f"a login through pool {pool.name} as {pool.login} failed: {why}", pool.pk) from None
                time.sleep(POLL_S)
            else:
                return

    def _health(self) -> Iterator[str]:
        """Each server with what its first check found, once all had one."""
        deadline = time.monotonic() + CHECKED_WITHIN_S
        while True:
            rows = [row for row in stats_socket.show(self.pooler, "stat") if row["pxname"] == render.PROXY]
            servers = [row for row in rows if row["svname"] not in ("FRONTEND", "BACKEND")]
            done = all(str(row.get("check_status") or "*")[0] not in "*I" for row in servers)
            if done or time.monotonic() > deadline:
                yield from (f"{row['svname']} {row['status']} ({row.get('check_status', '')})" for row in servers)
                return
            time.sleep(POLL_S)


def another_route(pooler: Pooler, one: Pool, other: Pool) -> str:
    """Why two pools can't be on one HAProxy."""
    return (
        f"pooler {pooler} is an HAProxy, which knows no databases and leads all its pools to the same servers: pool "
        f"{one} leads to the {one.target} of cluster {one.cluster}, pool {other} to the {other.target} of "
        f"{other.cluster}. Register another HAProxy for it, or give the PgBouncers behind it (servers)"
    )


def master_of(pooler: Pooler) -> int:
    """The process that starts workers. Raises `Rejected` where HAProxy runs without one, or on another host."""
    worker = int(stats_socket.info(pooler).get("Pid", 0))
    status = _status(worker)
    if not status.get("Name", "").startswith("haproxy"):
        raise Rejected(f"the process {worker} of pooler {pooler} is not on this host, so it can't be told to reload")
    master = int(status.get("PPid", 0))
    if not _status(master).get("Name", "").startswith("haproxy"):
        raise Rejected(
            f"pooler {pooler} runs without a master process, so a reload would drop its sessions: start HAProxy in "
            "master-worker mode (-W, or -Ws under systemd, as Debian does)"
        )
    return master


def differences(pooler: Pooler, text: str) -> list[str]:
    """What the worker has otherwise than the file says, beside the digest. Raises `PoolerUnreachable`."""
    rows = [row for row in stats_socket.show(pooler, "stat") if row["pxname"] == render.PROXY]
    live = {str(row["svname"]): row for row in rows}
    if not live:
        return [f"the worker has no frontend {render.PROXY}"] if render.ours(text).count("frontend ") else []
    wanted = render.servers_in(text)
    faults = [f"server {name} is missing" for name in wanted if name not in live]
    faults += [f"server {name} is still there" for name in live if name not in {*wanted, "FRONTEND", "BACKEND"}]
    limit = re.search(r"^    maxconn (\d+)$", render.ours(text), re.MULTILINE)
    found = str(live["FRONTEND"].get("slim", "")) if "FRONTEND" in live else ""
    if limit and found != limit[1]:
        faults.append(f"maxconn is {found or 'not set'}, not {limit[1]}")
    return faults


def _session(pool: Pool, at: Address) -> psycopg.Connection:
    """A login to a pool at some address; raises what psycopg raises."""
    refusing: dict[str, Any] = endpoints.refusing_cleartext(is_chosen=False)
    return psycopg.connect(
        host=at[0],
        port=at[1],
        dbname=pool.name,
        user=pool.login,
        password=pool.cluster.password_of(pool.login) or "",
        application_name="pooldeck",
        connect_timeout=CONNECT_TIMEOUT_S,
        gssencmode="disable",
        autocommit=True,
        prepare_threshold=None,
        **refusing,
    )


def _status(pid: int) -> dict[str, str]:
    """Linux's /proc/PID/status by name; empty where there is no such process."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _text(files: Files) -> str:
    return (files.get(MAIN) or b"").decode(errors="surrogateescape")
