"""What a running PgBouncer has, for a take-over: its files, what it shows, and who can log in through its entries."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.models import Pooler, identifiers
from pools.poolers import entry_logins, operators_files, settings_schema
from pools.poolers.entry_logins import MOST_LOGINS, ClientRoute, EntryLogin
from pools.poolers.operators_files import ReadFile, Unreadable
from pools.poolers.pgbouncer import console, global_settings, operators_config, read_files, releases, render
from pools.poolers.pgbouncer import values as values_of
from pools.poolers.pgbouncer.operators_config import ANY, CONSOLE
from pools.poolers.pgbouncer.processes import Process
from pools.poolers.pgbouncer.read_files import ConfigLine, FileSet
from pools.poolers.pgbouncer.render import DATABASES, MAIN, USERLIST

MARKER = "; taken over by Pooldeck: "  # marks a line whose entry became a pool; the rest of the line is the operator's
VOLATILE = ("current_connections", "current_client_connections")
COMPARED = {"databases": "name", "config": "key", "users": "name"}  # word of SHOW → the column that names its rows
MOST_ROLES = 3
Shown = Mapping[str, Mapping[str, console.Row]]  # word of SHOW → name → row, without what changes by itself


@dataclass
class RunningPgBouncer:
    """A PgBouncer as it runs: `pooler` is its record as the take-over would make it.

    Where several processes share the port, each has its own files: `further` are the others.
    """

    pooler: Pooler
    process: Process
    files: FileSet
    shown: Shown
    further: "list[RunningPgBouncer]" = field(default_factory=list)

    @property
    def each(self) -> "list[RunningPgBouncer]":
        """This process and the others."""
        return [self, *self.further]

    @property
    def all_files(self) -> dict[str, ReadFile]:
        """The files that any of the processes reads, by path."""
        return {path: file for one in reversed(self.each) for path, file in one.files.files.items()}

    @property
    def config(self) -> Mapping[str, str]:
        """SHOW CONFIG of the process that was started with the main file."""
        return self.process.config

    @cached_property
    def version_text(self) -> str:
        """Its own name of its release."""
        return str(console.rows(self.process.console, "version")[0]["version"])

    @property
    def folder(self) -> str:
        """The folder of the main file as PgBouncer names it."""
        return operators_config.folder_there(self.pooler, self.config.get("conffile", ""))

    @cached_property
    def entries(self) -> dict[str, list[ConfigLine]]:
        """Name → its lines, of which the last counts."""
        return self.files.of("databases")

    @cached_property
    def passwords(self) -> dict[str, str]:
        """User → password of its auth_file, where it stands there in clear."""
        users = render.users(self.files.users.text) if self.files.users else {}
        return {user: secret for user, secret in users.items() if secret and not identifiers.HASHED.fullmatch(secret)}

    def uses_auth_query(self, entry: ConfigLine) -> bool:
        """Return whether an entry asks its server for the passwords of users that are in no file."""
        return bool(entry.pairs.get("auth_user") or self.config.get("auth_user"))

    def blockers(self) -> Iterator[str]:
        """Yield why its files can't be taken over as they are."""
        yield from self._foreign()
        yield from (
            _("%(path)s can't be read here: %(reason)s") % {"path": path, "reason": why}
            for path, why in self.files.unread.items()
        )
        yield from self._not_live()
        for one in self.further:
            faults = [*one.blockers(), *self._unlike(one)]
            yield from (
                _("the process of %(name)s: %(fault)s") % {"name": one.process.name, "fault": fault} for fault in faults
            )

    def _unlike(self, other: "RunningPgBouncer") -> Iterator[str]:
        """Yield a sentence per difference to another process that keeps both from using the panel's files."""
        params = {"name": self.process.name, "folder": self.pooler.config_dir}
        if PurePosixPath(other.files.main.path).parent != PurePosixPath(self.files.main.path).parent:
            yield _("its main file is in another folder than %(folder)s: move it there") % params
        if other.process.name == MAIN:
            yield _("it was started with %(path)s: name that file as the main one") % {"path": other.files.main.path}
        if other.config.get("auth_file") != self.config.get("auth_file"):
            yield _("it reads its users from another auth_file than the process of %(name)s") % params
        if appended_to(other.files.main.text, self.folder) != appended_to(self.files.main.text, self.folder):
            yield _("its main file ends with a line break where that of %(name)s does not, or the reverse") % params
        own, others = ({name: lines[-1].value for name, lines in one.entries.items()} for one in (self, other))
        if differing := sorted(name for name in {*own, *others} if own.get(name) != others.get(name)):
            text = _("it has other entries than the process of %(name)s (%(differing)s): give both the same")
            yield text % {**params, "differing": ", ".join(differing)}

    def _foreign(self) -> Iterator[str]:
        main, live = self.files.main, self.config.get("conffile", "")
        if live and PurePosixPath(live).name != PurePosixPath(main.path).name:
            text = _("PgBouncer was started with %(live)s, not with %(path)s: name that file")
            yield text % {"live": live, "path": main.path}
        admins = re.split(r"[\s,]+", self.config.get("admin_users", ""))
        if self.pooler.admin_user not in admins and self.config.get("auth_type") != "any":
            text = _("%(user)s may not RELOAD: add it to admin_users, or give the pooler a login that is listed there")
            yield text % {"user": self.pooler.admin_user}
        for path, file in self.files.files.items():
            if MARKER in file.text or (
                file.role in (operators_files.MAIN, operators_files.INCLUDED) and _has_ours(file.text)
            ):
                text = _("%(path)s has lines of a panel already: remove them, then take it over")
                yield text % {"path": path}

    def _not_live(self) -> Iterator[str]:
        """Yield a sentence that names the changes of the next RELOAD, where there are any."""
        changed = [*self._entries_not_live(), *self._settings_not_live()]
        if changed:
            text = _("its files differ from what PgBouncer runs with (%(changed)s): RELOAD it, or restore them")
            yield text % {"changed": "; ".join(changed)}

    def _entries_not_live(self) -> Iterator[str]:
        rows = self.shown["databases"]
        for name, lines in self.entries.items():
            row = rows.get(name)
            if name != ANY and (row is None or _route_of(lines[-1]) != _route_shown(row)):
                yield _("entry %(name)s") % {"name": name}
        if ANY not in self.entries:
            yield from (_("entry %(name)s") % {"name": name} for name in rows if name not in {CONSOLE, *self.entries})

    def _settings_not_live(self) -> Iterator[str]:
        version = releases.version_of(self.version_text)
        for name, lines in self.files.of("pgbouncer").items():
            row = self.shown["config"].get(name)
            if row is None or row.get("changeable") == "no":
                continue
            setting, value = global_settings.setting_of(name, version), lines[-1].value
            live = settings_schema.readable(setting, str(row["value"] or ""))
            if not values_of.same(setting, live, value):
                yield f"{name} {live or _('empty')} → {value or _('empty')}"


def as_taken(pooler: Pooler, config_file: str) -> Pooler:
    """Return a copy of a pooler's record, unsaved, as it is once its main file is taken over."""
    copied = copy.copy(pooler)
    copied.config_file, copied.config_dir = config_file, str(PurePosixPath(config_file).parent)
    copied.file_paths = {MAIN: config_file, DATABASES: f"{copied.config_dir}/{DATABASES}"}
    return copied


def inspect(pooler: Pooler, found: Sequence[Process], config_file: str) -> RunningPgBouncer:
    """Read all that a PgBouncer reads and shows. Raises `Unreadable`, `PoolerUnreachable`."""
    if not config_file.startswith("/"):
        text = _("PgBouncer was started with the relative path %(path)s: give the whole path of its main file")
        raise Unreadable(text % {"path": config_file})
    taken = as_taken(pooler, config_file)
    own = sorted(found, key=lambda one: one.name != PurePosixPath(config_file).name)
    start = operators_config.working_folder(taken) or taken.config_dir
    load = partial(deliveries.of(taken).file_at, taken)
    files = read_files.read(config_file, start, own[0].config, load)
    if users := own[0].config.get("auth_file"):
        taken.file_paths[USERLIST] = read_files.here(users, start)
    return RunningPgBouncer(taken, own[0], files, show(own[0]), [_further(taken, one, start, load) for one in own[1:]])


def _further(taken: Pooler, process: Process, start: str, load: operators_files.Load) -> RunningPgBouncer:
    """Read what another process that shares the port reads. Raises `Unreadable`, `PoolerUnreachable`."""
    main = process.config.get("conffile", "")
    if not main.startswith("/"):
        text = _(
            "the process of %(path)s shares the port, and was started with a relative path: start it with a whole one"
        )
        raise Unreadable(text % {"path": main})
    return RunningPgBouncer(taken, process, read_files.read(main, start, process.config, load), show(process))


def show(process: Process) -> Shown:
    """Return all that a take-over must not change."""
    return {
        word: {str(row[key]): _lasting(row) for row in console.rows(process.console, word)}
        for word, key in COMPARED.items()
    }


def differences(before: Shown, after: Shown, running: RunningPgBouncer) -> list[str]:
    """Describe what SHOW tells apart, in sentences; what clients make meanwhile (`*`, look-ups) is none."""
    found = []
    by_clients = {
        "databases": ANY in running.entries,
        "users": any(map(running.uses_auth_query, _last(running.entries))),
    }
    for word, rows in before.items():
        gone = [name for name in rows if name not in after[word]]
        gone = [name for name in gone if not (by_clients.get(word) and name not in running.entries)]
        came = [] if by_clients.get(word) else [name for name in after[word] if name not in rows]
        found += [_("SHOW %(word)s has lost %(name)s") % {"word": word.upper(), "name": name} for name in gone]
        found += [_("SHOW %(word)s has got %(name)s") % {"word": word.upper(), "name": name} for name in came]
        for name in rows.keys() & after[word].keys():
            found += _changes(f"SHOW {word.upper()} {name}", rows[name], after[word][name])
    return found


def answers(running: RunningPgBouncer, known: Mapping[str, EntryLogin] | None = None) -> dict[str, EntryLogin]:
    """Log in through each entry but `*`, as somebody whose password is known; `known`: as those who got through."""
    entries = {name: lines[-1] for name, lines in list(running.entries.items())[:MOST_LOGINS] if name != ANY}
    if known is not None:
        entries = {name: line for name, line in entries.items() if name in known and not known[name].error}
    roles = {name: [known[name]] if known else _roles(running, line) for name, line in entries.items()}
    return entry_logins.answers(running.pooler, {name: ClientRoute(name) for name in entries}, roles)


def without(text: str, places: Iterable[ConfigLine]) -> str:
    """Put the marker before these lines of one file, which are comments then."""
    for place in sorted(places, key=lambda one: -one.start):
        text = text[: place.start] + MARKER + text[place.start :]
    return text


def appended_to(main: str, folder: str) -> str:
    """Return the lines that a take-over adds at the end of the main file."""
    break_line = "" if main.endswith("\n") or not main else "\n"
    return f"{break_line}; pools made in Pooldeck\n%include {folder}/{DATABASES}\n"


def restored(text: str, appended: str) -> str:
    """Return the text of a configuration file without what the panel put there; edits by others stay."""
    text = text.replace(MARKER, "")
    if appended and appended in text:
        above, _block, below = text.rpartition(appended)
        text = above + below
    return render.without_includes(text)


def restored_users(text: str, original: str) -> str:
    """Return the operator's part of an auth_file; its last line break goes with the panel's part that needed it."""
    if render.MARK not in text:
        return text
    kept = render.kept_part(text)
    mark = "\ufeff" if original.startswith("\ufeff") else ""
    return original if mark + kept == f"{original}\n" else mark + kept


def _roles(running: RunningPgBouncer, entry: ConfigLine) -> list[EntryLogin]:
    """Return who may get through an entry, with the passwords that PgBouncer's files or the console's login have."""
    pooler, user, known = running.pooler, entry.pairs.get("user", ""), running.passwords
    others = [role for role in known if role not in (user, pooler.admin_user)][:MOST_ROLES]
    roles = [*([user] if user in known else []), *([pooler.admin_user, *others] if user else others)]
    if not user:
        roles.append(pooler.admin_user)
    secrets = {**known, pooler.admin_user: pooler.admin_password}
    return [EntryLogin(role, secrets[role]) for role in dict.fromkeys(roles)]


def _route_of(line: ConfigLine) -> tuple[object, ...]:
    pairs = line.pairs
    return pairs.get("host") or None, str(pairs.get("port", 5432)), pairs.get("dbname", line.key), pairs.get("user")


def _route_shown(row: console.Row) -> tuple[object, ...]:
    return row["host"] or None, str(row["port"]), row["database"], row["force_user"]


def _has_ours(text: str) -> bool:
    return bool(render.INCLUDE.search(text) or render.SETTINGS_INCLUDE.search(text))


def _lasting(row: console.Row) -> console.Row:
    return {column: value for column, value in row.items() if column not in VOLATILE}


def _changes(what: str, before: console.Row, after: console.Row) -> list[str]:
    return [
        f"{what}: {column} {before[column]} → {after.get(column)}"
        for column in before
        if before[column] != after.get(column)
    ]


def _last(entries: Mapping[str, Sequence[ConfigLine]]) -> Iterator[ConfigLine]:
    return (lines[-1] for lines in entries.values())
