"""The logins of a rehearsal: straight to the servers that pools lead to, before PgBouncer has anything of it."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from uuid import UUID

from pools.clusters import connect
from pools.clusters.topology import Address
from pools.errors import ClusterUnreachable
from pools.models import Pool, PoolState
from pools.poolers.base import ClusterBusy, Progress, Rejected, Route
from pools.poolers.direct_login import NOBODY_THERE, busy_described, connected, report_unreachable
from pools.poolers.pgbouncer import auth_query, database_entries, server_tls
from pools.poolers.pgbouncer.config_builder import Drafting, stays
from pools.poolers.pgbouncer.database_entries import Found
from pools.poolers.pgbouncer.server_tls import ServerTls


class Direct:
    """Logs in for one draft; says on `progress` what people should know of servers that do not answer."""

    def __init__(self, drafted: Drafting, progress: Progress) -> None:
        self.drafted, self.progress = drafted, progress
        self.tls = server_tls.desired(drafted)
        self.away: dict[Route, str] = {}  # why nobody is let in there, and nothing is tried there twice
        self.there: set[Route] = set()

    def try_changed(self, changed: Collection[Pool], moved: Collection[str]) -> int:
        """Log in as each of the moved pools, and once to where the others lead; the number of logins of the first.

        Raises `Rejected` for all pools whose login failed, and first `ClusterBusy` for all ways that lead nowhere. All
        are tried, so that many bad pools cost one attempt and not one each.
        """
        routes = {_login(pool): pool for pool in changed if pool.key in moved}
        reasons: dict[UUID, str] = {}
        for pool in routes.values():
            if pool.route in self.away:
                continue
            self.progress.renew()
            try:
                self._try_pool(pool)
            except Rejected as fault:
                reasons |= fault.reasons
            except ClusterBusy as fault:
                self.away |= fault.reasons
            except ClusterUnreachable as error:
                blamed = [one.pk for one in changed if one.key in moved and _login(one) == _login(pool)]
                reasons |= dict.fromkeys(blamed, f"pool {pool} was not tried: {error}")
        for pool in {pool.route: pool for pool in changed}.values():
            self.silence_of(pool)
        if self.away:
            raise ClusterBusy(self.away)
        if reasons:
            raise Rejected.each(reasons)
        return len(routes)

    def silence_of(self, pool: Pool) -> str:
        """Why none of the servers a pool leads to can be reached; empty where one answers, whatever it says."""
        if pool.route not in self.away and pool.route not in self.there:
            self.progress.renew()
            try:
                words = _silence(pool, self.drafted.found)
            except (ClusterBusy, Rejected):  # it answers, or its login is not known
                words = ""
            self.there.add(pool.route)
            self.away |= {pool.route: words} if words else {}
        return self.away.get(pool.route, "")

    def try_encryption(self, moved: Collection[str]) -> None:
        """Log in to each cluster concerned as encrypted as PgBouncer is going to be; raises `Rejected`.

        Where the encryption changes these are all clusters, and the settings are to blame; else those of `moved`.
        """
        drafted = self.drafted
        before, after = server_tls.live(drafted), self.tls
        if after.unread:
            self.progress.step("noted", f"{', '.join(after.unread)} can't be read from here: tried by PgBouncer alone")
            return
        pools = [pool for pool, _ in drafted.asked] if before == after else list(drafted.pool_set)
        for pool in _one_each(pools, moved, only_moved=before == after):
            self.progress.renew()
            fault = self._shut_out(pool, after)
            if fault is None:
                continue
            if before == after:
                alike = [one.pk for one in pools if one.key in moved and _cluster(one) == _cluster(pool)]
                raise Rejected(f"pool {pool} was not tried: {_described(after, pool, fault)}", *alike)
            if pool.key not in moved and not before.unread and self._shut_out(pool, before):
                self.progress.step("noted", f"before these settings too: {_described(after, pool, fault)}")
                continue
            raise Rejected(f"nothing was written: {_described(after, pool, fault)}", settings=True)

    def _try_pool(self, pool: Pool) -> None:
        """Log in to each server it leads to; of several standbys some may be down, which is said."""
        servers = self.drafted.found.servers(pool)
        silent: list[str] = []
        for at in servers:
            try:
                self._try_server(pool, at)
            except ClusterUnreachable as error:
                silent.append(str(error))
                if error.cause not in NOBODY_THERE:
                    raise
                if len(silent) == len(servers):
                    raise ClusterBusy({pool.route: report_unreachable(pool, error)}) from error
        self.there.add(pool.route)
        for words in silent:
            self.progress.step("noted", f"pool {pool} leads to a standby that does not answer: {words}")

    def _try_server(self, pool: Pool, at: Address) -> None:
        role = role_of(pool)
        with self._connected(pool, role, self.drafted.found.password(pool, role), at) as connection:
            if database_entries.query_of(pool) and not auth_query.may_ask(connection):
                raise Rejected(
                    f"pool {pool} was not tried: database {pool.database} of {pool.cluster} has no function for "
                    f"{role} to look up inbound users with: set the look-up up again on the cluster's page",
                    pool.pk,
                )

    @contextmanager
    def _connected(self, pool: Pool, role: str, password: str, at: Address) -> Iterator[connect.Connection]:
        """By the cluster's own sslmode; where servers may ask for the pooler's certificate, as it logs in."""
        with busy_described(pool), ExitStack() as opened:
            if self.tls.key:
                folder = self.drafted.pooler.config_dir
                yield opened.enter_context(server_tls.connected(pool, role, password, at, self.tls, folder))
            else:
                yield opened.enter_context(connected(pool, role, password, at))

    def _shut_out(self, pool: Pool, tls: ServerTls) -> ClusterUnreachable | None:
        """What a server has against this encryption; None where all take it, or refuse for another reason."""
        if silence := self.silence_of(pool):
            self.progress.step("noted", f"how its servers take encryption was not found out: {silence}")
            return None
        try:
            role = role_of(pool)
            password = self.drafted.found.password(pool, role)
            for at in [(pool.through.host, pool.through.port)] if pool.through else self.drafted.found.servers(pool):
                with server_tls.connected(pool, role, password, at, tls, self.drafted.pooler.config_dir):
                    pass
        except (ClusterUnreachable, Rejected) as fault:
            if isinstance(fault, ClusterUnreachable) and fault.cause in server_tls.ITS_FAULT:
                return fault
            if stays(pool):  # else it was told when the pool itself was tried
                self.progress.step("noted", f"how {pool.cluster} takes encryption was not found out: {fault}")
        return None


def refuse_away(pool: Pool, found: Found) -> None:
    """Raise `ClusterBusy` where it is a pool's servers that let nobody in, which the pooler does not say."""
    if words := _silence(pool, found):
        raise ClusterBusy({pool.route: words})


def role_of(pool: Pool) -> str:
    """Who logs in to prove a pool: its fixed user, or the role that looks inbound users up."""
    return pool.user or database_entries.lookup_role(pool)


def _one_each(pools: Collection[Pool], moved: Collection[str], *, only_moved: bool) -> list[Pool]:
    """One pool of each way that is asked for anew, and one that is live of each other cluster."""
    found = {_cluster(pool): pool for pool in pools if pool.key in moved}
    if not only_moved:
        known = {cluster for cluster, *_ in found}
        live = [one for one in pools if one.state == PoolState.APPLIED and one.cluster_id not in known]
        found |= {(pool.cluster_id,): pool for pool in live}  # by what is read of settled pools, for they are many
    return list(found.values())


def _silence(pool: Pool, found: Found) -> str:
    """Why none of its servers can be reached; empty where one answers. Raises `ClusterBusy` for one that is full."""
    words, role = "", role_of(pool)
    for at in found.servers(pool):
        try:
            connected(pool, role, found.password(pool, role), at).close()
        except ClusterUnreachable as error:
            if error.cause in NOBODY_THERE:
                words = report_unreachable(pool, error)
                continue
        return ""
    return words


def _described(tls: ServerTls, pool: Pool, fault: ClusterUnreachable) -> str:
    return f"with {server_tls.MODE}={tls.sslmode} {pool.cluster} lets no pool in: {fault} (it said: {fault.words})"


def _login(pool: Pool) -> tuple[object, ...]:
    return pool.cluster_id, pool.target, pool.database, role_of(pool)


def _cluster(pool: Pool) -> tuple[object, ...]:
    return pool.cluster_id, pool.target, pool.through_id
