"""What a take-over would do to a running PgBouncer: which entries become pools, which files change; writes nothing."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _

from pools.deployment import take_over_files
from pools.deployment.registered_servers import Servers
from pools.deployment.take_over_plans import Plan, Proposal
from pools.inventory import pool_validation, pooler_settings_validation
from pools.models import EVERYONE, Cluster, Pool, Pooler, PoolState, identifiers
from pools.poolers.entry_logins import EntryLogin
from pools.poolers.pgbouncer import database_entries, process_files, processes, render, take_over, taken_entries
from pools.poolers.pgbouncer.operators_config import ANY
from pools.poolers.pgbouncer.read_files import ConfigLine
from pools.poolers.pgbouncer.render import DATABASES
from pools.poolers.pgbouncer.take_over import RunningPgBouncer
from pools.poolers.settings_schema import Scope

PANELS_FILES = (DATABASES, "pooldeck_settings.ini")


@dataclass(frozen=True, kw_only=True)
class EntryProposal(Proposal):
    """A line of [databases] or [peers]."""

    line: ConfigLine


@dataclass(frozen=True, kw_only=True)
class EntryPlan(Plan):
    """With the consoles that are open."""

    running: RunningPgBouncer


@contextmanager
def planned(pooler: Pooler, config_file: str, names: Collection[str] | None = None) -> Iterator[EntryPlan]:
    """Plan the take-over, with the consoles still open; `names`: those of the entries that may become pools.

    Raises `IllegalTransition`, `Unreadable`, `PoolerUnreachable`.
    """
    take_over_files.refuse(pooler)
    with processes.opened(pooler) as found:
        process_files.require_all(pooler, found)
        config_file = config_file or processes.main_first(pooler, found)[0].config.get("conffile", "")
        running = take_over.inspect(pooler, found, config_file)
        yield _plan(running, names)


def _plan(running: RunningPgBouncer, names: Collection[str] | None) -> EntryPlan:
    answers = take_over.answers(running)
    servers = Servers(running.pooler)
    proposals = [
        _propose(running, lines[-1], answers.get(name, EntryLogin()), servers, names)
        for name, lines in running.entries.items()
    ]
    proposals += [
        _proposal(lines[-1], EntryLogin(), because=_("a peer is not a database"))
        for lines in running.files.of("peers").values()
    ]
    appended = take_over.appended_to(running.files.main.text, running.folder)
    contents = _contents(running, proposals, appended)
    own_files = [f"{running.pooler.config_dir}/{name}" for name in PANELS_FILES]
    blockers = [*running.blockers(), *take_over_files.unwritable(running.pooler, contents, own_files)]
    return EntryPlan(
        running=running,
        taken=running.pooler,
        proposals=proposals,
        blockers=blockers,
        files_by_path=running.all_files,
        appended=appended,
        contents=contents,
        masked=render.masked,
    )


def _propose(
    running: RunningPgBouncer, line: ConfigLine, answer: EntryLogin, servers: Servers, names: Collection[str] | None
) -> EntryProposal:
    if because := _kept_because(running, line, answer):
        return _proposal(line, answer, because=because)
    if names is not None and line.key not in names:
        return _proposal(line, answer, because=_("it was not chosen"))
    host, port = line.pairs.get("host", ""), int(line.pairs.get("port", database_entries.DEFAULT_PORT))
    cluster, because = servers.find(host, port, answer)
    if cluster is None:
        return _proposal(line, answer, because=because, unknown=None if answer.is_standby else (host, port))
    pool = _pool_of(running, line, answer, cluster)
    if fault := next((message for _field, message in pool_validation.problems(pool)), ""):
        return _proposal(line, answer, because=_("the panel can't keep it as a pool: %(fault)s") % {"fault": fault})
    return _proposal(line, answer, pool=pool)


def _proposal(line: ConfigLine, answer: EntryLogin, **more: Any) -> EntryProposal:
    leads_to = line.pairs.get("host") or _("the default socket")
    return EntryProposal(
        name=line.key, path=line.path, number=line.number, leads_to=leads_to, answer=answer, line=line, **more
    )


def _kept_because(running: RunningPgBouncer, line: ConfigLine, answer: EntryLogin) -> str:
    """Return why an entry stays as it is, whichever server it leads to; empty where it can become a pool."""
    pairs = line.pairs
    if line.key == ANY:
        return _("any other database: it serves every name that has no entry of its own")
    if problem := identifiers.pool_name_problem(line.key):
        return problem
    if "," in pairs.get("host", ""):
        return _("it leads to several hosts, of which a pool of the panel has one")
    if not pairs.get("user") and running.uses_auth_query(line):
        return _("it has no user of its own, and looks up those of its clients (auth_query)")
    user = pairs.get("user")
    if user and not (pairs.get("password") or running.passwords.get(user)):
        text = _("no file has the password of %(user)s in clear text, so the panel could not keep it")
        return text % {"user": user}
    return ""


def _pool_of(running: RunningPgBouncer, line: ConfigLine, answer: EntryLogin, cluster: Cluster) -> Pool:
    pairs = line.pairs
    pool = Pool(
        id=uuid4(),
        name=line.key,
        pooler=running.pooler,
        cluster=cluster,
        database=pairs.get("dbname", line.key),
        user=pairs.get("user", ""),
        mode=taken_entries.mode_of(pairs, running.config),
        size=taken_entries.size_of(pairs, running.config),
        allowed_users=EVERYONE if pairs.get("user") else "",
        settings=_settings(running, pairs),
        state=PoolState.APPLIED,
    )
    host, port, _note = database_entries.address_of(pool)
    pool.taken_over = {"address": [host, port], "role": answer.role if not answer.error else ""}
    return pool


def _settings(running: RunningPgBouncer, pairs: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry's own settings, typed; those that the panel does not know stay in the line alone."""
    known = pooler_settings_validation.offered(running.pooler, Scope.POOL)
    texts = taken_entries.settings_of(pairs)
    return {name: pooler_settings_validation.typed(known[name], text) for name, text in texts.items() if name in known}


def _contents(running: RunningPgBouncer, proposals: Collection[EntryProposal], appended: str) -> dict[str, bytes]:
    """Return the new bytes by path: the panel's own file, the main file, then those whose lines became pools."""
    entries = [
        database_entries.of_kept(one.pool.key, one.name, one.line.value or taken_entries.ALL_DEFAULTS)
        for one in proposals
        if one.pool
    ]
    files, mains = running.all_files, [one.files.main.path for one in running.each]
    moved = [place for process in running.each for one in entries for place in process.entries.get(one.name, ())]
    texts = {f"{running.pooler.config_dir}/{DATABASES}": render.databases(entries, {})}
    for path in dict.fromkeys([*mains, *(place.path for place in moved)]):
        places = {place for place in moved if place.path == path}
        texts[path] = take_over.without(files[path].text, places) + (appended if path in mains else "")
    return {path: text.encode(errors="surrogateescape") for path, text in texts.items()}
