"""What a take-over would do to a running PgBouncer: which entries become pools, which files change; writes nothing."""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from django.utils import timezone
from django.utils.translation import gettext as _

from pools.clusters.cluster_index import ClusterIndex
from pools.config_files import deliveries, folder_owner
from pools.deployment import diff
from pools.deployment.take_over_steps import KEPT, POOL
from pools.errors import IllegalTransition
from pools.hosts.base import UnsafeFolder
from pools.inventory import pool_validation, pooler_settings_validation
from pools.models import (
    EVERYONE,
    Cluster,
    ClusterNode,
    ClusterStatus,
    Entry,
    Pool,
    Pooler,
    PoolState,
    identifiers,
)
from pools.poolers import KINDS
from pools.poolers.pgbouncer import database_entries, process_files, processes, render, take_over, taken_entries
from pools.poolers.pgbouncer.operators_config import ANY
from pools.poolers.pgbouncer.read_files import ConfigLine, ReadFile
from pools.poolers.pgbouncer.render import DATABASES
from pools.poolers.pgbouncer.take_over import EntryLogin, RunningPgBouncer
from pools.poolers.settings_schema import Scope

PANELS_FILES = (DATABASES, "pooldeck_settings.ini")


@dataclass(frozen=True)
class Proposal:
    """The fate of one entry: it becomes a `pool`, unsaved, or it is kept as it is `because`.

    `unknown` is the address of a server that is not registered.
    """

    line: ConfigLine
    answer: EntryLogin
    pool: Pool | None = None
    because: str = ""
    unknown: tuple[str, int] | None = None

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.line.key

    @property
    def becomes(self) -> str:
        """The API's word for it: `pool` or `kept`."""
        return POOL if self.pool else KEPT


@dataclass(frozen=True)
class Plan:
    """The whole take-over; `contents` are the files to write by path, the first of them the panel's own."""

    running: RunningPgBouncer
    proposals: list[Proposal]
    blockers: list[str]
    appended: str = ""
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def pools(self) -> list[Pool]:
        """The unsaved pools that entries become."""
        return [one.pool for one in self.proposals if one.pool]

    @property
    def files(self) -> list[ReadFile]:
        """The files that its first process reads."""
        return list(self.running.files.files.values())

    @property
    def main_file(self) -> str:
        """The path of the file that its first process was started with."""
        return self.running.files.main.path

    @property
    def changes(self) -> list[diff.FileDiff]:
        """The files that differ, secrets masked."""
        before = {path: self._files[path].text for path in self.contents if path in self._files}
        after = {path: content.decode(errors="surrogateescape") for path, content in self.contents.items()}
        return diff.of_files(before, after, render.masked)

    @property
    def _files(self) -> Mapping[str, ReadFile]:
        return self.running.all_files

    def preview(self) -> dict[str, Any]:
        """Return `{entries, files, changes, blockers}` for the API, without secrets."""
        return {
            "entries": [_preview_of(one) for one in self.proposals],
            "files": [{"path": file.path, "role": file.role, "sha256": file.sha256} for file in self._files.values()],
            "changes": [{"file": one.name, "diff": one.text} for one in self.changes],
            "blockers": self.blockers,
        }


@contextmanager
def planned(pooler: Pooler, config_file: str, names: Collection[str] | None = None) -> Iterator[Plan]:
    """Plan the take-over, with the consoles still open; `names`: those of the entries that may become pools.

    Raises `IllegalTransition`, `Unreadable`, `PoolerUnreachable`.
    """
    refuse(pooler)
    with processes.opened(pooler) as found:
        process_files.require_all(pooler, found)
        config_file = config_file or processes.main_first(pooler, found)[0].config.get("conffile", "")
        running = take_over.inspect(pooler, found, config_file)
        yield _plan(running, names)


def refuse(pooler: Pooler) -> None:
    """Raise `IllegalTransition` for a pooler that can't be taken over, or from here."""
    if obstacle := KINDS[pooler.kind].take_over_obstacle(pooler):
        raise IllegalTransition(obstacle)
    if not pooler.is_watched:
        text = _("pooler %(pooler)s is managed already: its files are the panel's")
        raise IllegalTransition(text % {"pooler": pooler})
    if not (owner := folder_owner.of(pooler)).is_here:
        text = _(
            "the files of pooler %(pooler)s are on the host of generator %(generator)s, and can't be previewed here"
        )
        raise IllegalTransition(text % {"generator": owner.generator, "pooler": pooler})


def _plan(running: RunningPgBouncer, names: Collection[str] | None) -> Plan:
    answers = take_over.answers(running)
    servers = Servers(running.pooler)
    proposals = [
        _propose(running, lines[-1], answers.get(name, EntryLogin()), servers, names)
        for name, lines in running.entries.items()
    ]
    proposals += [
        Proposal(lines[-1], EntryLogin(), because=_("a peer is not a database"))
        for lines in running.files.of("peers").values()
    ]
    appended = take_over.appended_to(running.files.main.text, running.folder)
    contents = _contents(running, proposals, appended)
    blockers = [*running.blockers(), *_unwritable(running, contents)]
    return Plan(running, proposals, blockers, appended, contents)


def _propose(
    running: RunningPgBouncer, line: ConfigLine, answer: EntryLogin, servers: "Servers", names: Collection[str] | None
) -> Proposal:
    if because := _kept_because(running, line, answer):
        return Proposal(line, answer, because=because)
    if names is not None and line.key not in names:
        return Proposal(line, answer, because=_("it was not chosen"))
    cluster, because = servers.find(line, answer)
    if cluster is None:
        host, port = line.pairs.get("host", ""), int(line.pairs.get("port", database_entries.DEFAULT_PORT))
        return Proposal(line, answer, because=because, unknown=None if answer.is_standby else (host, port))
    pool = _pool_of(running, line, answer, cluster)
    if fault := next((message for _field, message in pool_validation.problems(pool)), ""):
        return Proposal(line, answer, because=_("the panel can't keep it as a pool: %(fault)s") % {"fault": fault})
    return Proposal(line, answer, pool)


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


class Servers:
    """The registered servers, by address and by the identifier of their data."""

    def __init__(self, pooler: Pooler) -> None:
        self.pooler, self.index = pooler, ClusterIndex.read()
        self._at: dict[tuple[str, int], list[Cluster]] = {}
        for cluster in Cluster.objects.all():
            self._at.setdefault((cluster.host, cluster.port), []).append(cluster)
        for node in ClusterNode.objects.select_related("cluster"):
            self._at.setdefault((node.host, node.port), []).append(node.cluster)
        statuses = ClusterStatus.objects.exclude(system_identifier="").select_related("cluster")
        self._identifiers = {one.cluster_id: one.system_identifier for one in statuses}
        self._clusters = {one.cluster_id: one.cluster for one in statuses}

    def find(self, line: ConfigLine, answer: EntryLogin) -> tuple[Cluster | None, str]:
        """Return the cluster that an entry leads to; else None, and why."""
        port = int(line.pairs.get("port", database_entries.DEFAULT_PORT))
        address = f"{line.pairs.get('host') or _('the default socket')}:{port}"
        found = self._candidates(line, port, answer)
        if len(found) > 1:
            text = _("several clusters are registered for %(address)s")
            return None, text % {"address": address}
        if not found:
            text = _("no cluster is registered for %(address)s: register it, then it can become a pool")
            return None, text % {"address": address}
        if answer.is_standby:
            text = _("it leads to a standby of %(cluster)s, while a pool of the panel leads to all of them")
            return None, text % {"cluster": found[0]}
        return found[0], ""

    def _candidates(self, line: ConfigLine, port: int, answer: EntryLogin) -> list[Cluster]:
        """Return those at the address, without those that are another server; else the one with its identifier."""
        at = {one.pk: one for one in self._at.get((line.pairs.get("host", ""), port), [])}
        same = [one for one in at.values() if self._identifiers.get(one.pk, "") in ("", answer.identifier)]
        if at and (same or not answer.identifier):
            return same or list(at.values())
        if not answer.identifier:
            there = self.index.find(self.pooler, line.pairs.get("host", ""), port)
            return [there] if there else []
        pks = [pk for pk, identifier in self._identifiers.items() if identifier == answer.identifier]
        found = [self._clusters[pk] for pk in pks]
        return [one for one in found if one.port == port] or found


def _contents(running: RunningPgBouncer, proposals: Collection[Proposal], appended: str) -> dict[str, bytes]:
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


def _unwritable(running: RunningPgBouncer, contents: Mapping[str, bytes]) -> Iterator[str]:
    """Yield why the files can't be written as they have to be."""
    delivery = deliveries.of(running.pooler)
    for path in contents:
        folder, name = os.path.split(path)
        try:
            delivery.refuse_unsafe(running.pooler, folder)
        except UnsafeFolder as error:
            yield str(error)
            continue
        yield from _not_ours(running, path)
    for name in PANELS_FILES:
        own = f"{running.pooler.config_dir}/{name}"
        if _is_there(running.pooler, own):
            yield _("%(path)s is there already, as another panel's: move it away") % {"path": own}
    for other in deliveries.others_in(running.pooler, running.pooler.config_dir):
        text = _("%(folder)s is the folder of pooler %(pooler)s: two would overwrite each other's pools")
        yield text % {"folder": running.pooler.config_dir, "pooler": other}


def _not_ours(running: RunningPgBouncer, path: str) -> Iterator[str]:
    try:
        file = deliveries.of(running.pooler).file_at(running.pooler, path, follow=False)
    except OSError:
        yield _("%(path)s is a link, so that another program has the file: it stays watched") % {"path": path}
        return
    own = _own_uid(running.pooler)
    if file and own not in (0, file.access.uid):
        params = {"path": path, "owner": file.access.uid, "own": own}
        yield _("%(path)s belongs to uid %(owner)s, and the panel runs as uid %(own)s") % params


def _is_there(pooler: Pooler, path: str) -> bool:
    try:
        return deliveries.of(pooler).file_at(pooler, path, follow=False) is not None
    except OSError:  # a link, a folder, or a file that may not be read
        return True


def _own_uid(pooler: Pooler) -> int:
    """Return the account by which the panel works on the pooler's host; root's where it does not work there."""
    with deliveries.of(pooler).connected(pooler) as host:
        return host.uid if host else 0


def _preview_of(one: Proposal) -> dict[str, Any]:
    line, pool = one.line, one.pool
    found: dict[str, Any] = {
        "name": one.name,
        "becomes": one.becomes,
        "because": one.because,
        "source": {"file": line.path, "line": line.number},
        "login": {"role": one.answer.role, "error": one.answer.error},
        "cluster": {"id": str(pool.cluster_id), "name": pool.cluster.name} if pool else None,
        "pool": None,
        "register": {"host": one.unknown[0], "port": one.unknown[1]} if one.unknown else None,
    }
    if pool:
        shown = ("database", "user", "mode", "size", "settings")
        found["pool"] = {name: getattr(pool, name) for name in shown}
    return found


def note_kept(pooler: Pooler, proposals: Collection[Proposal]) -> None:
    """Record where each entry stands and why those that stayed did, for the list of entries."""
    for one in proposals:
        noted = {"source_file": one.line.path, "source_line": one.line.number, "kept_because": one.because}
        if one.name == ANY:  # No console lists it; the next check reads its values from the files.
            Entry.objects.update_or_create(
                pooler=pooler, name=ANY, defaults=noted, create_defaults={**noted, "seen_at": timezone.now()}
            )
        else:
            Entry.objects.filter(pooler=pooler, name=one.name).update(**noted)
