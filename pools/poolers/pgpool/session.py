"""One apply onto a Pgpool-II: reloaded over its PCP port, whose login no pool_passwd can take away, asked by SHOW."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

import psycopg

from pools.config_files import atomic_write
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.models import Pool, Pooler
from pools.poolers import direct_login, trial_instance
from pools.poolers.base import ClusterBusy, Draft, Files, Progress, Rejected
from pools.poolers.pgbouncer.console import reason_of
from pools.poolers.pgpool import backends, child_processes, pcp, preflight, render, sql, verify
from pools.poolers.pgpool.config_builder import ALL_FILES, Drafting
from pools.poolers.pgpool.render import MAIN, PASSWD
from pools.poolers.pgpool.settings_catalog import by_name
from pools.poolers.settings_schema import Version

# a child takes a reload when it next waits for a client or a query
SEEN_WITHIN_S = 10
RETRY_EVERY_S = 0.1
STEADY_S = 0.5  # children take the reload one after the other: the first that did is no proof for the rest
UP_WITHIN_S = 15
MOST_LOGINS = 200
DOWN = ("down", "unused")
T = TypeVar("T")


class PgpoolSession:
    """See `pools.poolers.base.Session`."""

    def __init__(self, pooler: Pooler, version: Version, version_text: str, live: Mapping[str, str]) -> None:
        self.pooler, self.version, self.version_text, self.live = pooler, version, version_text, live
        self.known = by_name(version)
        self.pools: dict[UUID, Pool] = {}
        self.waiting: dict[str, tuple[str, str]] = {}  # for a restart: name → (live, written)
        self.settled_passwords, self.new_passwords = "", False

    def draft(self, pools: Collection[Pool], settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render the four files, and those that were uploaded."""
        disk = atomic_write.read(self.pooler.config_dir, list(ALL_FILES))
        self.pools = {pool.pk: pool for pool in pools}
        self.settled_passwords = settled.get(PASSWD, "")
        return Drafting(self.pooler, self.version, self.live).draft(pools, disk, settled, trust_disk)

    def rehearse(self, draft: Draft, progress: Progress) -> None:
        """Log in directly where pools lead anew, and start a throwaway program on the files."""
        if self.pooler.pcp_port is None:
            raise Rejected(f"pooler {self.pooler} can't be reloaded: give it its PCP port (pcp_port in {MAIN})")
        self._refuse_another_primary(draft)
        moved = [pool for pool in self.pools.values() if pool.key in draft.moved]
        for pool in moved:
            progress.renew()
            self._log_in_directly(pool)
        program = preflight.find(self.pooler, self.version_text)
        if program:
            preflight.start(program, self.version, draft.texts, self.pooler.config_dir)
            tried = f"a throwaway Pgpool-II started on the files ({program})"
        else:
            tried = trial_instance.not_found(self.pooler, self.version_text)
        progress.step("rehearsed", f"{len(moved)} direct logins to the pools' databases; {tried}")

    def go_live(self, contents: Files, progress: Progress) -> None:
        """Write, have them read, and let queries go to backends that came with them."""
        self.new_passwords |= _text(contents, PASSWD) != self.settled_passwords
        atomic_write.replace(self.pooler.config_dir, contents)
        pcp.reload_config(self.pooler)
        progress.renew()
        if self.new_passwords:
            self._have_them_read(progress)
        self._attach_new(contents, progress)

    def read_back(self, contents: Files) -> None:
        """PGPOOL SHOW ALL must say what the file says, but for what is read at the start; the PCP login must hold.

        Whichever child answers, for a while.
        """
        expected = _expected(_text(contents, MAIN))
        if late := _still_wrong(lambda: _once_up(lambda: self._late(expected)), STEADY_S):
            raise Rejected(f"after the reload {_words(late)}", settings=True)
        pcp.log_in(self.pooler)

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Each changed pool must let its user through to the server."""
        changed = [pool for pool in self.pools.values() if pool.key in draft.changed]
        for pool in changed[:MOST_LOGINS]:
            progress.renew()
            self._log_in(pool, steady_s=STEADY_S if pool is changed[0] else 0)
            progress.step("logged in", f"{pool.login} through {pool.name}")
        if len(changed) > MOST_LOGINS:
            progress.step("read back only", f"{len(changed) - MOST_LOGINS} more changed pools were not logged in to")

    def restarts_needed(self) -> list[dict[str, str]]:
        """What the last read-back found to wait for a restart."""
        return [{"name": name, "live": live, "wanted": wanted} for name, (live, wanted) in self.waiting.items()]

    def _have_them_read(self, progress: Progress) -> None:
        """By each child that serves nobody; the others are left for beat."""
        all_of_them = pcp.children(self.pooler).keys()
        behind = child_processes.reload(self.pooler, all_of_them)
        self.pooler.leave_behind(behind)
        if behind:
            described = f"by {len(behind)} of {len(all_of_them)} children, which serve clients"
            progress.step("passwords not read yet", f"{described}: they are told once they are free")

    def _late(self, expected: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """What the child that answers has otherwise and would take with a reload: name → (live, written)."""
        with sql.open(self.pooler) as session:
            live = sql.settings(session)
        wrong = verify.differences(live, expected, self.known)
        self.waiting = {name: pair for name, pair in wrong.items() if verify.waits_for_restart(name, self.known)}
        return {name: pair for name, pair in wrong.items() if name not in self.waiting}

    def _refuse_another_primary(self, draft: Draft) -> None:
        """A backend's address is read at the start only: pools that lead to another server can't go live."""
        primary = backends.primary_of(backends.read(draft.texts[MAIN]))
        if primary is None:
            return
        nodes = sql.show(self.pooler, "pool_nodes")
        at = next((node for node in nodes if str(node["node_id"]) == str(primary.number)), None)
        if at and (at["hostname"], str(at["port"])) != (primary.host, str(primary.port)):
            raise Rejected(
                f"backend {primary.number} of pooler {self.pooler} is {at['hostname']}:{at['port']}, the cluster is "
                f"{primary.host}:{primary.port}, and Pgpool-II reads that at its start only: write "
                f"backend_hostname{primary.number} and backend_port{primary.number} into {MAIN} above the panel's "
                "mark, restart it, then apply again"
            )

    def _attach_new(self, contents: Files, progress: Progress) -> None:
        """A backend that came with a reload is down until it is attached."""
        wanted = {str(one.number) for one in backends.read(_text(contents, MAIN))}
        known = {name for name in self.live if name.startswith("backend_hostname")}
        new = {number for number in wanted if f"backend_hostname{number}" not in known}
        deadline = time.monotonic() + UP_WITHIN_S
        while new:
            nodes = _once_up(lambda: sql.show(self.pooler, "pool_nodes"))
            for node in nodes:
                if str(node["node_id"]) in new and str(node["status"]) in DOWN:
                    new.discard(str(node["node_id"]))
                    self._attach(int(str(node["node_id"])), progress)
            if time.monotonic() > deadline:
                return
            progress.renew()
            time.sleep(RETRY_EVERY_S)

    def _attach(self, number: int, progress: Progress) -> None:
        try:
            pcp.attach_node(self.pooler, number)
            progress.step("attached", f"backend {number}")
        except Rejected as error:
            progress.step("not attached", f"backend {number}: {error}")

    def _log_in_directly(self, pool: Pool) -> None:
        try:
            self._reach(pool)
        except ClusterUnreachable as error:
            raise Rejected(f"pool {pool} was not tried: {error}", pool.pk) from error

    def _reach(self, pool: Pool) -> None:
        """Log in without the pooler; raises `ClusterBusy` for a server that is full or away, `ClusterUnreachable`."""
        try:
            direct_login.connected(pool, pool.login, pool.cluster.password_of(pool.login) or "").close()
        except ClusterUnreachable as error:
            if error.cause in direct_login.NOBODY_THERE:
                raise ClusterBusy({pool.route: direct_login.report_unreachable(pool, error)}) from error
            raise

    def _log_in(self, pool: Pool, steady_s: float) -> None:
        """Tried until children that have taken the reload serve it, without a refusal for so long."""
        if error := _still_wrong(lambda: self._refusal(pool), steady_s):
            self._refuse_busy(pool, error)
            raise Rejected(f"a login through pool {pool.name} as {pool.login} failed: {reason_of(error)}", pool.pk)

    def _refusal(self, pool: Pool) -> psycopg.Error | None:
        """What keeps its user from a login and a query; None where nothing does."""
        password = pool.cluster.password_of(pool.login) or ""
        try:
            with sql.connect(self.pooler, pool.database, pool.login, password) as session:
                session.execute(b"SELECT 1")
        except psycopg.Error as error:
            return error
        return None

    def _refuse_busy(self, pool: Pool, error: psycopg.Error) -> None:
        """Raise `ClusterBusy` where it is the server that is full or away, or where all children are taken."""
        with suppress(ClusterUnreachable):
            self._reach(pool)
        # its own words with reserved_connections; without, clients stand in the kernel's queue
        if isinstance(error, psycopg.errors.ConnectionTimeout) or "too many clients" in str(error):
            raise ClusterBusy(
                {
                    pool.route: f"pooler {self.pooler} lets nobody in for now, all its children are taken "
                    f"({reason_of(error)}): close some clients, or raise num_init_children"
                }
            ) from None


def open(pooler: Pooler, version_of: Any) -> PgpoolSession:
    """A session for an apply; raises `PoolerUnreachable`."""
    with sql.open(pooler) as session:
        version_text, live = sql.version(session), sql.settings(session)
    if not live:
        raise PoolerUnreachable(f"pooler {pooler} does not answer PGPOOL SHOW ALL: is it a Pgpool-II?")
    return PgpoolSession(pooler, version_of(version_text), version_text, live)


def _still_wrong(snapshot: Callable[[], T | None], steady_s: float) -> T | None:
    """What a look still finds when the time for a reload is over; None once looks found nothing for so long."""
    deadline = time.monotonic() + SEEN_WITHIN_S
    since: float | None = None
    while True:
        wrong, now = snapshot(), time.monotonic()
        if wrong and now > deadline:
            return wrong
        since = None if wrong else since or now
        if since is not None and now - since >= steady_s:
            return None
        time.sleep(RETRY_EVERY_S)


def _once_up(snapshot: Callable[[], T]) -> T:
    """What Pgpool-II answers, asked again for a while: attaching a node ends its children and starts new ones (4.3)."""
    deadline = time.monotonic() + SEEN_WITHIN_S
    while True:
        try:
            return snapshot()
        except PoolerUnreachable:
            if time.monotonic() > deadline:
                raise
        time.sleep(RETRY_EVERY_S)


def _expected(text: str) -> dict[str, str]:
    """What has to be live of a pgpool.conf: the settings of the panel's part."""
    return render.values_in(render.ours(text))


def _words(late: Mapping[str, tuple[str, str]]) -> str:
    name, (live, written) = next(iter(late.items()))
    return f"{name} is {live!r}, not {written!r}" if live else f"the pooler does not know {name}"


def _text(contents: Files, name: str) -> str:
    return (contents.get(name) or b"").decode(errors="surrogateescape")
