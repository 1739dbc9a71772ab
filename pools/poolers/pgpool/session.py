"""One apply onto a Pgpool-II: reloaded over its PCP port, whose login no pool_passwd can take away, asked by SHOW."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TypeVar
from uuid import UUID

import psycopg
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.config_files import pooler_files
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.models import Pool, Pooler, WaitingSetting
from pools.poolers import direct_login, local_process
from pools.poolers.faults import ClusterBusy, Rejected
from pools.poolers.pgpool import backends, child_processes, pcp, preflight, render, sql, verify
from pools.poolers.pgpool.config_builder import ALL_FILES, ConfigBuilder
from pools.poolers.pgpool.render import MAIN, PASSWD
from pools.poolers.pgpool.settings_catalog import by_name
from pools.poolers.pooler_login import reason_of
from pools.poolers.session import Draft, Files, Progress
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
        self.waiting: dict[str, tuple[str, str]] = {}  # settings that wait for a restart: name → (live, written)
        self.settled_passwords, self.new_passwords = "", False

    def draft(self, pools: Collection[Pool], settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render the four files, and those that were uploaded."""
        disk = pooler_files.read(self.pooler, list(ALL_FILES))
        self.pools = {pool.pk: pool for pool in pools}
        self.settled_passwords = settled.get(PASSWD, "")
        return ConfigBuilder(self.pooler, self.version, self.live).draft(pools, disk, settled, trust_disk)

    def preflight(self, draft: Draft, progress: Progress) -> None:
        """Log in directly to the servers of changed pools, and start a trial instance on the files."""
        if self.pooler.pcp_port is None:
            raise Rejected(
                _("pooler %(pooler)s can't be reloaded: give it its PCP port (pcp_port in %(main)s)")
                % {"pooler": self.pooler, "main": MAIN}
            )
        self._refuse_another_primary(draft)
        moved = [pool for pool in self.pools.values() if pool.key in draft.moved]
        for pool in moved:
            progress.renew()
            self._log_in_directly(pool)
        program = preflight.find(self.pooler, self.version_text)
        if program:
            preflight.start(self.pooler, program, self.version, draft.texts)
            tried = local_process.trial_started(program)
        else:
            tried = local_process.why_no_trial(self.pooler, "pgpool", self.version_text)
        progress.step("preflight passed", f"{direct_login.login_count(len(moved))}; {tried}")

    def go_live(self, contents: Files, progress: Progress) -> None:
        """Write the files, reload, and attach the backends that are new in them."""
        self.new_passwords |= _text(contents, PASSWD) != self.settled_passwords
        pooler_files.replace(self.pooler, contents)
        pcp.reload_config(self.pooler)
        progress.renew()
        if self.new_passwords:
            self._reload_children(progress)
        self._attach_new(contents, progress)

    def read_back(self, contents: Files) -> None:
        """Require that PGPOOL SHOW ALL matches the file, except for a restart, and that the PCP login works.

        Whichever child answers, for a while.
        """
        expected = _expected(_text(contents, MAIN))
        if late := _still_wrong(lambda: _retry_until_up(lambda: self._outdated(expected)), STEADY_S):
            raise Rejected(_("after the reload: %(faults)s") % {"faults": _words(late)}, settings=True)
        pcp.log_in(self.pooler)

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Log in through each changed pool to its server."""
        changed = [pool for pool in self.pools.values() if pool.key in draft.changed]
        for pool in changed[:MOST_LOGINS]:
            progress.renew()
            self._log_in(pool, steady_s=STEADY_S if pool is changed[0] else 0)
            progress.step("logged in", direct_login.logged_in_through(pool))
        if len(changed) > MOST_LOGINS:
            progress.step("read back only", direct_login.skipped_note(len(changed) - MOST_LOGINS))

    def processes_read_back(self) -> list[int]:
        """Return none: it starts its own processes."""
        return []

    def start_processes(self, progress: Progress) -> None:
        """Do nothing: one process takes all clients."""

    def restarts_needed(self) -> list[WaitingSetting]:
        """List the settings that, by the last read-back, wait for a restart."""
        return [{"name": name, "live": live, "wanted": wanted} for name, (live, wanted) in self.waiting.items()]

    def _reload_children(self, progress: Progress) -> None:
        """Reload each idle child; the others are left for beat."""
        all_of_them = pcp.children(self.pooler).keys()
        behind = child_processes.reload(self.pooler, all_of_them)
        self.pooler.leave_behind(behind)
        if behind:
            text = ngettext(
                "%(count)s of %(all)s children serves a client and reloads once it is free",
                "%(count)s of %(all)s children serve clients and reload once they are free",
                len(behind),
            )
            progress.step("passwords not read yet", text % {"count": len(behind), "all": len(all_of_them)})

    def _outdated(self, expected: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return the settings that a child has not taken from the reload yet: name → (live, written)."""
        with sql.open(self.pooler) as session:
            live = sql.settings(session)
        wrong = verify.differences(live, expected, self.known)
        self.waiting = {name: pair for name, pair in wrong.items() if verify.waits_for_restart(name, self.known)}
        return {name: pair for name, pair in wrong.items() if name not in self.waiting}

    def _refuse_another_primary(self, draft: Draft) -> None:
        """Raise `Rejected` for another primary: a backend's address is read only at the start."""
        primary = backends.primary_of(backends.read(draft.texts[MAIN]))
        if primary is None:
            return
        nodes = sql.show(self.pooler, "pool_nodes")
        at = next((node for node in nodes if str(node["node_id"]) == str(primary.number)), None)
        if at and (at["hostname"], str(at["port"])) != (primary.host, str(primary.port)):
            raise Rejected(
                _(
                    "backend %(number)s of pooler %(pooler)s is %(hostname)s:%(port)s, the cluster is "
                    "%(host)s:%(cluster_port)s, and Pgpool-II reads that at its start only: write "
                    "backend_hostname%(number)s and backend_port%(number)s into %(main)s above the panel's mark, "
                    "restart it, then apply again"
                )
                % {
                    "number": primary.number,
                    "pooler": self.pooler,
                    "hostname": at["hostname"],
                    "port": at["port"],
                    "host": primary.host,
                    "cluster_port": primary.port,
                    "main": MAIN,
                }
            )

    def _attach_new(self, contents: Files, progress: Progress) -> None:
        """Attach backends that are new after a reload: they are down until then."""
        numbers = {str(one.number) for one in backends.read(_text(contents, MAIN))}
        known = {name for name in self.live if name.startswith("backend_hostname")}
        new = {number for number in numbers if f"backend_hostname{number}" not in known}
        deadline = time.monotonic() + UP_WITHIN_S
        while new:
            nodes = _retry_until_up(lambda: sql.show(self.pooler, "pool_nodes"))
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
            progress.step("not attached", _("backend %(number)s: %(error)s") % {"number": number, "error": error})

    def _log_in_directly(self, pool: Pool) -> None:
        try:
            self._reach(pool)
        except ClusterUnreachable as error:
            raise Rejected(
                _("pool %(pool)s was not tried: %(error)s") % {"pool": pool, "error": error}, pool.pk
            ) from error

    def _reach(self, pool: Pool) -> None:
        """Log in without the pooler; raises `ClusterBusy` for a server that is full or away, `ClusterUnreachable`."""
        try:
            direct_login.connected(pool, pool.login, pool.cluster.password_of(pool.login) or "").close()
        except ClusterUnreachable as error:
            if error.cause in direct_login.NOBODY_THERE:
                raise ClusterBusy({pool.route: direct_login.report_unreachable(pool, error)}) from error
            raise

    def _log_in(self, pool: Pool, steady_s: float) -> None:
        """Retry until reloaded children serve it, without a refusal for that long."""
        if error := _still_wrong(lambda: self._refusal(pool), steady_s):
            self._refuse_busy(pool, error)
            raise Rejected(f"a login through pool {pool.name} as {pool.login} failed: {reason_of(error)}", pool.pk)

    def _refusal(self, pool: Pool) -> psycopg.Error | None:
        """Return the error of its user's login and query; None where both work."""
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
        if sql.is_full(error):
            raise ClusterBusy(
                {
                    pool.route: _(
                        "pooler %(pooler)s refuses all logins for now, all its children are taken (%(reason)s): "
                        "close some clients, or raise num_init_children"
                    )
                    % {"pooler": self.pooler, "reason": reason_of(error)}
                },
                of_servers=False,
            ) from None


def open(pooler: Pooler, version_of: Callable[[str], Version]) -> PgpoolSession:
    """Open a session for an apply; raises `PoolerUnreachable`."""
    with sql.open(pooler) as session:
        version_text, live = sql.version(session), sql.settings(session)
    if not live:
        text = _("pooler %(pooler)s does not answer PGPOOL SHOW ALL: is it a Pgpool-II?")
        raise PoolerUnreachable.at(pooler, text % {"pooler": pooler})
    return PgpoolSession(pooler, version_of(version_text), version_text, live)


def _still_wrong(snapshot: Callable[[], T | None], steady_s: float) -> T | None:
    """Return the last finding of `snapshot` at the deadline; None once it found nothing for `steady_s` seconds."""
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


def _retry_until_up(snapshot: Callable[[], T]) -> T:
    """Retry a query for a while: attaching a node ends its children and starts new ones (4.3)."""
    deadline = time.monotonic() + SEEN_WITHIN_S
    while True:
        try:
            return snapshot()
        except PoolerUnreachable:
            if time.monotonic() > deadline:
                raise
        time.sleep(RETRY_EVERY_S)


def _expected(text: str) -> dict[str, str]:
    """Return the settings of the panel's part of a pgpool.conf, which have to be live."""
    return render.values_in(render.ours(text))


def _words(late: Mapping[str, tuple[str, str]]) -> str:
    name, (live, written) = next(iter(late.items()))
    return (
        _("%(name)s is %(live)r, not %(written)r") % {"name": name, "live": live, "written": written}
        if live
        else _("the pooler does not know %(name)s") % {"name": name}
    )


def _text(contents: Files, name: str) -> str:
    return (contents.get(name) or b"").decode(errors="surrogateescape")
