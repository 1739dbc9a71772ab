"""What a take-over would do to a running HAProxy: why each proxy stays, and which files change; writes nothing."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pools.clusters import topology
from pools.deployment import marked_steps, take_over_files
from pools.deployment.registered_servers import Servers
from pools.deployment.take_over_plans import Plan, Proposal
from pools.models import Cluster, Pooler
from pools.poolers import entry_logins
from pools.poolers.entry_logins import ClientRoute, EntryLogin
from pools.poolers.haproxy import operators_config, render, take_over
from pools.poolers.haproxy.operators_config import Address, Section
from pools.poolers.haproxy.take_over import RunningHAProxy

ANYWHERE = ("", "*", "0.0.0.0", "::")  # noqa: S104 (as the operator's file has them)


@dataclass(frozen=True, kw_only=True)
class HAProxyPlan(Plan):
    """With what ran before, and the route to each proxy."""

    running: RunningHAProxy
    routes: Mapping[str, ClientRoute]


@dataclass(frozen=True)
class Front:
    """A proxy with what is behind it: the pooler of the panel or the cluster of its servers; why, where none."""

    section: Section
    servers: list[Address]
    pooler: Pooler | None = None
    cluster: Cluster | None = None
    because: str = ""
    unknown: Address | None = None


@contextmanager
def planned(pooler: Pooler, config_file: str, _names: Collection[str] | None = None) -> Iterator[HAProxyPlan]:
    """Plan the take-over. Raises `IllegalTransition`, `Unreadable`, `PoolerUnreachable`."""
    take_over_files.refuse(pooler)
    yield _plan(take_over.inspect(pooler, config_file))


def _plan(running: RunningHAProxy) -> HAProxyPlan:
    taken = running.pooler
    fronts = [_front(running, section) for section in running.fronts]
    routes = {one.section.name: route for one in fronts if (route := _route(running, one))}
    roles = {one.section.name: list(_roles(one)) for one in fronts}
    answers = entry_logins.answers(taken, routes, roles)
    text = running.files.files[running.files.main].text
    through = running.through
    body = render.body_through(*through, {}, {}) if through else render.body_of_none()
    new = render.file(text, body)
    contents = {taken.config_file: new.encode(errors="surrogateescape")}
    return HAProxyPlan(
        running=running,
        routes=routes,
        taken=taken,
        proposals=[
            _proposal(running, one, answers.get(one.section.name, entry_logins.no_password())) for one in fronts
        ],
        blockers=[*running.blockers(), *take_over_files.unwritable(taken, contents)],
        notes=list(running.notes()),
        files_by_path=running.files.files,
        appended=marked_steps.appended(text, new),
        contents=contents,
        masked=render.masked_all,
    )


def _front(running: RunningHAProxy, section: Section) -> Front:
    behind = operators_config.servers_behind(section, running.sections)
    servers = [at for one in behind for at in one.servers]
    if not section.is_tcp:
        return Front(section, servers, because=_("it speaks HTTP (mode http), and PostgreSQL's clients do not"))
    if not servers:
        return Front(section, servers, because=_("it has no servers that its file names"))
    poolers = {(one.host, one.port): one for one in Pooler.objects.exclude(pk=running.pooler.pk)}
    if set(servers) <= poolers.keys():
        return Front(section, servers, pooler=poolers[servers[0]])
    known = Servers(running.pooler)
    found = [(at, *known.find(*at, EntryLogin())) for at in servers]
    for at, cluster, _because in found:
        if cluster is None:
            text = _("no cluster, or more than one, is registered for %(address)s")
            return Front(section, servers, because=text % {"address": topology.written(at)}, unknown=at)
    clusters = {cluster.pk: cluster for _at, cluster, _because in found if cluster}
    if len(clusters) > 1:
        names = ", ".join(sorted(one.name for one in clusters.values()))
        return Front(
            section, servers, because=_("its servers belong to several clusters: %(names)s") % {"names": names}
        )
    return Front(section, servers, cluster=next(iter(clusters.values())))


def _proposal(running: RunningHAProxy, front: Front, answer: EntryLogin) -> Proposal:
    section = front.section
    return Proposal(
        name=section.name,
        path=section.path,
        number=section.number,
        leads_to=", ".join(map(topology.written, front.servers)) or "–",
        answer=answer,
        because=front.because or _kept_because(running, front),
        unknown=front.unknown,
    )


def _kept_because(running: RunningHAProxy, front: Front) -> str:
    """Return why a TCP proxy to known servers stays: it forwards names, of which a pool has one."""
    params = {"port": running.pooler.port, "behind": front.cluster or front.pooler}
    if running.through and running.through[0] == front.section.name:
        text = _(
            "it forwards whatever database its clients name, and a pool is one database; the "
            "pools that you make for databases of %(behind)s are reached through it"
        )
    elif running.pooler.port in {port for _host, port in front.section.binds}:
        text = _(
            "it chooses between several backends, and a pool leads to one: it stays as it is, and pools of the panel "
            "need a pooler with another port than %(port)d"
        )
    else:
        text = _("it listens on another port than %(port)d, the port of this pooler's pools")
    return text % params


def _route(running: RunningHAProxy, front: Front) -> ClientRoute | None:
    """Return how clients reach a proxy; None where no login through it is known."""
    pool = front.pooler.pools.first() if front.pooler else None
    if not front.section.binds or not (front.cluster or pool):
        return None
    host, port = front.section.binds[0]
    database = front.cluster.maintenance_database if front.cluster else str(pool and pool.name)
    return ClientRoute(database, "" if host in ANYWHERE else host, port)


def _roles(front: Front) -> Iterator[EntryLogin]:
    if front.cluster and front.cluster.admin_password:
        yield EntryLogin(front.cluster.admin_user, front.cluster.admin_password)
    if front.pooler and (pool := front.pooler.pools.select_related("cluster").first()):
        yield EntryLogin(pool.login, pool.cluster.password_of(pool.login) or "")
