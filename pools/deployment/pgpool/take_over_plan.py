"""What a take-over would do to a running Pgpool-II: which databases become pools, which files change."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from django.utils.translation import gettext as _

from pools.deployment import marked_steps, take_over_files
from pools.deployment.registered_servers import Servers
from pools.deployment.take_over_plans import Plan, Proposal
from pools.inventory import pool_validation
from pools.models import Cluster, Mode, Pool, Pooler, PoolState, identifiers
from pools.poolers import KINDS, entry_logins
from pools.poolers.console_sample import FoundEntry
from pools.poolers.entry_logins import ClientRoute, EntryLogin
from pools.poolers.pgpool import hba_access, operators_config, render, take_over
from pools.poolers.pgpool.hba_access import Access
from pools.poolers.pgpool.render import HBA
from pools.poolers.pgpool.take_over import RunningPgpool


@dataclass(frozen=True, kw_only=True)
class PgpoolPlan(Plan):
    """With what ran before."""

    running: RunningPgpool


@contextmanager
def planned(pooler: Pooler, config_file: str, names: Collection[str] | None = None) -> Iterator[PgpoolPlan]:
    """Plan the take-over. Raises `IllegalTransition`, `Unreadable`, `PoolerUnreachable`."""
    take_over_files.refuse(pooler)
    kind = KINDS[pooler.kind]
    running = take_over.inspect(pooler, config_file, kind.version_of)
    yield _plan(running, kind.entries(pooler) or [], names)


def _plan(running: RunningPgpool, entries: Collection[FoundEntry], names: Collection[str] | None) -> PgpoolPlan:
    taken, files = running.pooler, running.files
    cluster, because, unknown = _cluster_of(running)
    answers = _answers(taken, entries, cluster)
    path, number = files.line_of("backend_hostname0")
    proposals = []
    for entry in entries:
        answer = answers.get(entry.name, entry_logins.no_password())
        why = because or _kept_because(running, entry, cluster, answer, names)
        pool = None if why or cluster is None else _pool_of(running, entry, cluster, answer)
        if pool and (fault := next((message for _field, message in pool_validation.problems(pool)), "")):
            pool, why = None, _("the panel can't keep it as a pool: %(fault)s") % {"fault": fault}
        proposal = Proposal(
            name=entry.name,
            path=path,
            number=number,
            leads_to=f"{entry.host}:{entry.port}",
            answer=answer,
            pool=pool,
            because=why,
            unknown=unknown,
        )
        proposals.append(proposal)
    texts = _texts(running, [one.pool for one in proposals if one.pool])
    contents = {path: text.encode(errors="surrogateescape") for path, text in texts.items()}
    return PgpoolPlan(
        running=running,
        taken=taken,
        proposals=proposals,
        blockers=[*running.blockers(), *take_over_files.unwritable(taken, contents)],
        notes=list(running.notes()),
        files_by_path=files.files,
        appended=marked_steps.appended(files.main.text, texts[taken.config_file]),
        contents=contents,
        masked=masked_by(taken),
    )


def masked_by(pooler: Pooler) -> marked_steps.Masked:
    """Return what masks files by path as the files that they are."""
    names = {path: name for name, path in pooler.file_paths.items()}
    return lambda texts: {
        path: render.masked({names.get(path, path): text})[names.get(path, path)] for path, text in texts.items()
    }


def _cluster_of(running: RunningPgpool) -> tuple[Cluster | None, str, tuple[str, int] | None]:
    """Return the cluster of all its backends; else why there is none, and the address that is not registered."""
    servers, found = Servers(running.pooler), {}
    for node in running.nodes:
        host, port = str(node["hostname"]), int(str(node["port"]))
        cluster, because = servers.find(host, port, EntryLogin())
        if cluster is None:
            return None, because, (host, port)
        found[cluster.pk] = cluster
    if len(found) > 1:
        names = ", ".join(sorted(one.name for one in found.values()))
        return None, _("its servers belong to several clusters: %(names)s") % {"names": names}, None
    return next(iter(found.values()), None), "" if found else _("it has no backend"), None


def _answers(taken: Pooler, entries: Collection[FoundEntry], cluster: Cluster | None) -> dict[str, EntryLogin]:
    """Log in to each database as the role by which the panel proves a pool, else as the console's."""
    roles = [EntryLogin(taken.admin_user, taken.admin_password)]
    if cluster and cluster.admin_password and cluster.admin_user != taken.admin_user:
        roles.insert(0, EntryLogin(cluster.admin_user, cluster.admin_password))
    routes = {one.name: ClientRoute(one.name) for one in list(entries)[: entry_logins.MOST_LOGINS]}
    return entry_logins.answers(taken, routes, dict.fromkeys(routes, roles))


def _kept_because(
    running: RunningPgpool,
    entry: FoundEntry,
    cluster: Cluster | None,
    answer: EntryLogin,
    names: Collection[str] | None,
) -> str:
    """Return why a database stays as it is; empty where it can become a pool."""
    if not running.has_rules:
        return _("a pool is a rule of pool_hba.conf, which Pgpool-II does not read (enable_pool_hba is off)")
    if not operators_config.admitting(running.files.text_of(HBA), entry.name):
        return _("no rule of its pool_hba.conf lets clients in to it")
    if problem := identifiers.pool_name_problem(entry.name) or hba_access.name_problem(entry.name):
        return problem
    if names is not None and entry.name not in names:
        return _("it was not chosen")
    if cluster and (answer.error or answer.role != cluster.admin_user):
        text = _("%(role)s, as whom the panel proves its pools, can't log in through it: add it to pool_passwd")
        return text % {"role": cluster.admin_user}
    return ""


def _pool_of(running: RunningPgpool, entry: FoundEntry, cluster: Cluster, answer: EntryLogin) -> Pool:
    return Pool(
        id=uuid4(),
        name=entry.name,
        pooler=running.pooler,
        cluster=cluster,
        database=entry.name,
        mode=Mode.SESSION,
        size=KINDS[running.pooler.kind].usual_size(running.pooler) or entry.size or 1,
        settings={},
        state=PoolState.APPLIED,
        taken_over={"address": [entry.host, entry.port], "role": answer.role},
    )


def _texts(running: RunningPgpool, pools: Collection[Pool]) -> dict[str, str]:
    """Return the new texts by path: the mark in pgpool.conf, and the pools that rules above let in."""
    files = running.files
    texts = {files.paths[render.MAIN]: render.file(files.main.text, "")}
    if pools:
        kept = [Access(pool.pk, pool.database, pool.user, by_operator=True) for pool in pools]
        below = "".join(one.lines() for one in sorted(kept, key=lambda one: one.database))
        texts[files.paths[HBA]] = render.file(files.text_of(HBA), below)
    return texts
