"""The logins of a preflight: directly to the servers that pools lead to, before PgBouncer reads anything.

They use the sslmode of the cluster, or the encryption that PgBouncer will use where that is tried or has a certificate.
"""

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from core.lib import private_text
from pools.clusters import auth_query, ca_files, connect, endpoints
from pools.clusters.endpoints import Endpoint
from pools.clusters.login_errors import Cause
from pools.clusters.topology import Address
from pools.errors import ClusterUnreachable
from pools.models import Pool, PoolState
from pools.poolers.direct_login import NOBODY_THERE, connected, raising_cluster_busy, report_unreachable
from pools.poolers.faults import ClusterBusy, Rejected, Route
from pools.poolers.pgbouncer import database_entries, global_settings
from pools.poolers.pgbouncer.config_builder import ConfigBuilder, stays
from pools.poolers.pgbouncer.database_entries import LoginCache
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.preflight import PREFIX
from pools.poolers.pgbouncer.render import text_of
from pools.poolers.session import Progress

MODE, AUTHORITY, CERTIFICATE, KEY = (f"server_tls_{part}" for part in ("sslmode", "ca_file", "cert_file", "key_file"))
NAMES = (MODE, AUTHORITY, CERTIFICATE, KEY)
VERIFYING = ("verify-ca", "verify-full")
WHERE_OFFERED = (
    "allow",
    "prefer",
)  # PgBouncer treats both alike: it asks each server for TLS, and never tries both ways
# A server, or its certificate, may refuse one encryption for these causes and accept another.
OF_ENCRYPTION = frozenset(
    {Cause.HBA, Cause.TLS_NOT_OFFERED, Cause.CERTIFICATE, Cause.CA, Cause.TLS, Cause.CLOSED, Cause.OTHER}
)


@dataclass(frozen=True)
class ServerTls:
    """The TLS of logins to servers: the mode, the texts of its files, and paths that can't be read from here."""

    sslmode: str
    authority: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)
    unread: tuple[str, ...] = ()


class Direct:
    """Logs in for one draft; reports on `progress` the servers that do not answer."""

    def __init__(self, drafted: ConfigBuilder, progress: Progress) -> None:
        self.drafted, self.progress = drafted, progress
        self.tls = _desired_encryption(drafted)
        self.away: dict[Route, str] = {}  # the reason, by route; nothing is tried there twice
        self.there: set[Route] = set()

    def try_changed(self, changed: Collection[Pool], moved: Collection[str]) -> int:
        """Log in as each of the moved pools, and once to where the others lead; the number of logins of the first.

        Raises `Rejected` for all pools whose login failed, and before that `ClusterBusy` for all busy routes. All are
        tried, so that many bad pools cost one attempt and not one each.
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
                reasons |= dict.fromkeys(
                    blamed, _("pool %(pool)s was not tried: %(error)s") % {"pool": pool, "error": error}
                )
        for pool in {pool.route: pool for pool in changed}.values():
            self.silence_of(pool)
        if self.away:
            raise ClusterBusy(self.away)
        if reasons:
            raise Rejected.each(reasons)
        return len(routes)

    def silence_of(self, pool: Pool) -> str:
        """Return why none of the servers a pool leads to is reachable; empty where one answers in any way."""
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
        """Log in to each cluster with the encryption that PgBouncer will use; raises `Rejected`.

        Where the encryption changes, it tries all clusters and rejects the settings; else those of `moved`.
        """
        drafted = self.drafted
        before, after = _live_encryption(drafted), self.tls
        if after.unread:
            self.progress.step(
                "noted",
                _("%(unread)s can't be read from here: only PgBouncer tries it") % {"unread": ", ".join(after.unread)},
            )
            return
        pools = [pool for pool, _ in drafted.asked] if before == after else list(drafted.pool_set)
        for pool in _one_each(pools, moved, only_moved=before == after):
            self.progress.renew()
            fault = self._encryption_refusal(pool, after)
            if fault is None:
                continue
            if before == after:
                alike = [one.pk for one in pools if one.key in moved and _cluster(one) == _cluster(pool)]
                raise Rejected(
                    _("pool %(pool)s was not tried: %(refusal)s")
                    % {"pool": pool, "refusal": _refusal(after, pool, fault)},
                    *alike,
                )
            if pool.key not in moved and not before.unread and self._encryption_refusal(pool, before):
                self.progress.step(
                    "noted",
                    _("before these settings too: %(refusal)s") % {"refusal": _refusal(after, pool, fault)},
                )
                continue
            raise Rejected(
                _("nothing was written: %(refusal)s") % {"refusal": _refusal(after, pool, fault)}, settings=True
            )

    def _try_pool(self, pool: Pool) -> None:
        """Log in to each server it leads to; of several standbys some may be down, which becomes a step."""
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
            self.progress.step(
                "noted",
                _("pool %(pool)s routes to a standby that does not answer: %(words)s") % {"pool": pool, "words": words},
            )

    def _try_server(self, pool: Pool, at: Address) -> None:
        role = role_of(pool)
        with self._connected(pool, role, self.drafted.found.password(pool, role), at) as connection:
            if database_entries.query_of(pool) and not auth_query.may_ask(connection):
                raise Rejected(
                    _(
                        "pool %(pool)s was not tried: database %(database)s of %(cluster)s has no function for "
                        "%(role)s to look up inbound users with: set the look-up up again on the cluster's page"
                    )
                    % {"pool": pool, "database": pool.database, "cluster": pool.cluster, "role": role},
                    pool.pk,
                )

    @contextmanager
    def _connected(self, pool: Pool, role: str, password: str, at: Address) -> Iterator[connect.Connection]:
        """Log in by the cluster's own sslmode, or with the pooler's certificate where servers may ask for it."""
        with raising_cluster_busy(pool), ExitStack() as opened:
            if self.tls.key:
                folder = self.drafted.pooler.config_dir
                yield opened.enter_context(_connected_with(pool, role, password, at, self.tls, folder))
            else:
                yield opened.enter_context(connected(pool, role, password, at))

    def _encryption_refusal(self, pool: Pool, tls: ServerTls) -> ClusterUnreachable | None:
        """Return the server error caused by this encryption; None where all accept it, or fail for another reason."""
        if silence := self.silence_of(pool):
            self.progress.step(
                "noted", _("whether its servers accept the encryption is not known: %(silence)s") % {"silence": silence}
            )
            return None
        try:
            role = role_of(pool)
            password = self.drafted.found.password(pool, role)
            for at in [(pool.through.host, pool.through.port)] if pool.through else self.drafted.found.servers(pool):
                with _connected_with(pool, role, password, at, tls, self.drafted.pooler.config_dir):
                    pass
        except (ClusterUnreachable, Rejected) as fault:
            if isinstance(fault, ClusterUnreachable) and fault.cause in OF_ENCRYPTION:
                return fault
            if stays(pool):  # else it was told when the pool itself was tried
                self.progress.step(
                    "noted",
                    _("whether %(cluster)s accepts the encryption is not known: %(fault)s")
                    % {"cluster": pool.cluster, "fault": fault},
                )
        return None


def refuse_unreachable_servers(pool: Pool, found: LoginCache) -> None:
    """Raise `ClusterBusy` where a pool's servers refuse logins, which the pooler does not report."""
    if words := _silence(pool, found):
        raise ClusterBusy({pool.route: words})


def role_of(pool: Pool) -> str:
    """Return the role that verifies a pool: its fixed user, or the role that looks up inbound users."""
    return pool.user or database_entries.lookup_role(pool)


def _one_each(pools: Collection[Pool], moved: Collection[str], *, only_moved: bool) -> list[Pool]:
    """Return one pending pool of each route, and one live pool of each other cluster."""
    found = {_cluster(pool): pool for pool in pools if pool.key in moved}
    if not only_moved:
        known = {cluster for cluster, *_ in found}
        live = [one for one in pools if one.state == PoolState.APPLIED and one.cluster_id not in known]
        found |= {(pool.cluster_id,): pool for pool in live}  # settled pools are many, so one of each cluster is tried
    return list(found.values())


def _silence(pool: Pool, found: LoginCache) -> str:
    """Return why none of its servers is reachable; empty where one answers. Raises `ClusterBusy` for a full one."""
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


def _refusal(tls: ServerTls, pool: Pool, fault: ClusterUnreachable) -> str:
    return _("with %(mode)s=%(sslmode)s %(cluster)s refuses every pool: %(fault)s (server message: %(words)s)") % {
        "mode": MODE,
        "sslmode": tls.sslmode,
        "cluster": pool.cluster,
        "fault": fault,
        "words": private_text.write(fault.words, _("an admin sees it")),
    }


def _login(pool: Pool) -> tuple[object, ...]:
    return pool.cluster_id, pool.target, pool.database, role_of(pool)


def _cluster(pool: Pool) -> tuple[object, ...]:
    return pool.cluster_id, pool.target, pool.through_id


def _desired_encryption(drafted: ConfigBuilder) -> ServerTls:
    """Return the encryption that the drafted files ask for."""
    own = drafted.operators.reading.values("pgbouncer")
    before = global_settings.written(drafted.settled.get(SETTINGS, ""))
    values = {}
    for name in NAMES:
        otherwise = (
            global_settings.default_of(name, drafted.version) if name in before else drafted.config.get(name, "")
        )
        values[name] = drafted.spec.lines.get(name, own.get(name, otherwise))
    return _encryption_of(values, drafted, drafted.texts)


def _live_encryption(drafted: ConfigBuilder) -> ServerTls:
    """Return the encryption that SHOW CONFIG reports, with the files on disk."""
    texts = {name: text_of(drafted.disk, name) for name in global_settings.GIVEN.values()}
    return _encryption_of(drafted.config, drafted, texts)


@contextmanager
def _connected_with(
    pool: Pool, role: str, password: str, at: Address, tls: ServerTls, folder: str
) -> Iterator[connect.Connection]:
    """Log in to the pool's database on one server with this encryption; raises `ClusterUnreachable`.

    A private key lies in `folder`, where it belongs, for as long as that takes.
    """
    endpoint = endpoints.as_role(endpoints.at(pool.cluster, at, pool.database), pool.cluster, role, password)
    with _files(endpoint, tls, folder) as encrypted, _opened(encrypted, tls.sslmode) as connection:
        yield connection


def _encryption_of(values: Mapping[str, str], drafted: ConfigBuilder, texts: Mapping[str, str]) -> ServerTls:
    mode = values.get(MODE) or "disable"
    needed = [AUTHORITY] if mode in VERIFYING else []
    needed += [CERTIFICATE, KEY] if mode != "disable" and values.get(KEY) else []
    found = {name: _read(values.get(name, ""), drafted, texts) for name in needed}
    unread = tuple(f"{name} {values.get(name) or '–'}" for name, text in found.items() if not text)
    return ServerTls(mode, found.get(AUTHORITY, ""), found.get(CERTIFICATE, ""), found.get(KEY, ""), unread)


def _read(path: str, drafted: ConfigBuilder, texts: Mapping[str, str]) -> str:
    """Return the text of the panel's file, or the operator's where PgBouncer and the panel see the same paths."""
    where = PurePath(path)
    if str(where.parent) == drafted.folder and where.name in global_settings.GIVEN.values():
        return texts.get(where.name, "")
    if not where.is_absolute() or drafted.folder != drafted.pooler.config_dir:
        return ""
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError):
        return ""


@contextmanager
def _files(endpoint: Endpoint, tls: ServerTls, folder: str) -> Iterator[Endpoint]:
    """Write the texts to files for libpq, which would use those of the panel's home directory otherwise."""
    absent = str(settings.HOME / "no-certificate")
    authority = ca_files.path_of(tls.authority) if tls.authority else absent
    endpoint = replace(endpoint, sslrootcert=authority, sslcert=absent, sslkey=absent)
    if not tls.key:
        yield endpoint
        return
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=folder) as name:  # 0700
        certificate, key = Path(name, "certificate.pem"), Path(name, "key.pem")
        certificate.write_text(tls.certificate)
        key.touch(mode=0o600)
        key.write_text(tls.key)
        yield replace(endpoint, sslcert=str(certificate), sslkey=str(key))


def _opened(endpoint: Endpoint, sslmode: str) -> connect.Connection:
    if sslmode not in WHERE_OFFERED:
        return connect.connect_endpoint(replace(endpoint, sslmode=sslmode))
    try:
        return connect.connect_endpoint(replace(endpoint, sslmode="require"))
    except ClusterUnreachable as error:
        if error.cause != Cause.TLS_NOT_OFFERED:
            raise
    return connect.connect_endpoint(replace(endpoint, sslmode="disable"))
