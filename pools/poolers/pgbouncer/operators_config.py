"""What of a PgBouncer is its operator's: all that it reads and shows, but for the panel's own files.

PgBouncer reads its main file and, where an `%include` stands, another file as if its text stood there: up to ten deep,
in the section that includes it, by a relative path from its working directory (cfparser.c of libusual; its manual,
"Include directive"). Of an entry that is written twice it takes the last one. Files that can't be read here are named
in `Reading.unread`; what they say is then known from SHOW alone.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

import psutil
from django.utils.translation import gettext as _

from pools.config_files import deliveries, pooler_files
from pools.models import Pooler
from pools.poolers import host_processes, local_process
from pools.poolers.pgbouncer import console
from pools.poolers.pgbouncer.database_entries import LOOSE_PAIR
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.render import DATABASES, MAIN

DEEPEST = 10  # includes within includes (MAX_INCLUDE of cfparser.c)
CONSOLE = "pgbouncer"  # the name of its own database
ANY = "*"  # the entry that serves every name without one: SHOW DATABASES lists what it served, never itself
TOKEN = re.compile(
    r"[ \t\n\v\f\r]*(?:"
    r"%include[ \t]+(?P<include>[^\n]*)"
    r"|[#;][^\n]*"
    r"|\[(?P<section>[^\]\n]*)\]"
    r"|(?P<key>'[^'\n]*'|[A-Za-z0-9_.*-]+)[ \t]*=[ \t]*(?P<value>[^\n]*)"
    r")"
)
# Whole lines without an include or a header, as `TOKEN` reads them, however many there are.
PLAIN_LINES = re.compile(r"(?:[ \t\v\f\r]*(?:[#;][^\n]*|(?:'[^'\n]*'|[A-Za-z0-9_.*-]+)[ \t]*=[^\n]*)?\n)*+")
Load = Callable[[str], str]  # raises OSError


class Line(NamedTuple):
    """One `key = value` of the operator's, with the file that has it, as PgBouncer names it, and its number there."""

    section: str
    key: str
    value: str
    file: str
    number: int = 0

    @property
    def pairs(self) -> dict[str, str]:
        """The connection string of an entry, or the limits of a user, by key."""
        return {key: bare or inside.replace("''", "'") for key, inside, bare in LOOSE_PAIR.findall(self.value)}


@dataclass
class Reading:
    """The operator's lines in the order in which PgBouncer reads them, and included files that can't be read here."""

    lines: list[Line] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # path → why
    includes: list[str] = field(default_factory=list)  # paths, the panel's too
    files: dict[str, str] = field(default_factory=dict)  # path → text of the included files that are the operator's
    above: int | None = None  # number of lines before the panel's settings; None where those are not read
    reset: Line | None = None  # a [pgbouncer] header below the panel's settings: it sets each to its default again

    def of(self, section: str) -> dict[str, Line]:
        """Return key → the line that counts, of one section."""
        return {line.key: line for line in self.lines if line.section == section}

    def values(self, section: str) -> dict[str, str]:
        """Return key → value of one section."""
        return {key: line.value for key, line in self.of(section).items()}

    @property
    def after_panels(self) -> dict[str, Line]:
        """Return key → the operator's line that counts, of the settings that are read after the panel's."""
        late = [] if self.above is None else self.lines[self.above :]
        return {line.key: line for line in late if line.section == "pgbouncer"}

    def set_again(self, name: str) -> str:
        """Return a sentence naming the line that sets a setting again after the panel's; empty for none."""
        if line := self.after_panels.get(name):
            params = {"file": shortened(line.file), "number": line.number, "name": name, "value": line.value}
            text = _(
                "line %(number)s of %(file)s sets %(name)s to %(value)s after the panel's settings are read: take it "
                "out there"
            )
            return text % params
        if self.reset is None:
            return ""
        params = {"file": shortened(self.reset.file), "number": self.reset.number, "name": name}
        text = _(
            "line %(number)s of %(file)s opens [pgbouncer] again after the panel's settings are read, which sets "
            "%(name)s to its default: move that section up, or write it in pgbouncer.ini"
        )
        return text % params

    def goes_on(self, path: str, depth: int = 1) -> bool:
        """Return whether what stands below the line that includes a file is read in the section that is above it."""
        if path not in self.files or depth > DEEPEST:
            return False
        found = [one for _number, one in _tokens(self.files[path])]
        if any(one["section"] is not None for one in found):
            return False
        return all(self.goes_on(one["include"].rstrip(), depth + 1) for one in found if one["include"] is not None)

    def with_main(self, main: str, ours: Mapping[str, str]) -> "Reading":
        """Return the reading of another main file that includes the same files."""

        def load(path: str) -> str:
            if path in self.files:
                return self.files[path]
            raise OSError(self.unread.get(path, ""))

        return read(main, ours, load)


@dataclass(frozen=True)
class Operators:
    """The operator's entries and settings: from the files (`reading`), and as PgBouncer shows them.

    `shown` are rows of SHOW DATABASES by name, `panels` the names in the panel's last files, `auth_user` is that of
    SHOW CONFIG, `shown_users` are rows of SHOW USERS by name.
    """

    reading: Reading = field(default_factory=Reading)
    shown: Mapping[str, console.Row] = field(default_factory=dict)
    panels: Collection[str] = ()
    auth_user: str = ""
    shown_users: Mapping[str, console.Row] = field(default_factory=dict)

    @cached_property
    def entries(self) -> Mapping[str, Line]:
        """Return name → line of the entries in files; that of `*` too."""
        return self.reading.of("databases")

    @cached_property
    def users(self) -> Mapping[str, Line]:
        """Return name → line of the users with limits of their own."""
        return self.reading.of("users")

    @property
    def serves_any(self) -> bool:
        """True if `*` serves, or may serve, the names that have no entry."""
        return ANY in self.entries or bool(self.reading.unread)

    @property
    def uses_auth_query(self) -> bool:
        """True if any of its entries looks up users, or may do so."""
        with_auth_user = (line for line in self.entries.values() if "auth_user" in line.pairs)
        return bool(self.auth_user or self.reading.unread or next(with_auth_user, None))

    def claim_on(self, name: str) -> str:
        """Return a sentence of what the operator has by that name; empty where a pool may have it."""
        if line := self.entries.get(name):
            params = {"file": shortened(line.file), "name": name}
            return _("%(file)s already has an entry %(name)s: give the pool another name") % params
        row = self.shown.get(name)
        if row is None or name in self.panels or self.is_automatic(row):
            return ""
        return _(
            "PgBouncer already serves an entry %(name)s, which the panel never wrote: give the pool another name, or "
            "RELOAD it if that entry was taken out of its files"
        ) % {"name": name}

    def is_automatic(self, row: console.Row) -> bool:
        """Return whether `*` made it for a client: it then has what the line of `*` says, and its own name."""
        if ANY not in self.entries:
            return False
        pairs = self.entries[ANY].pairs
        target = (pairs.get("host"), pairs.get("port", "5432"), pairs.get("dbname", row["name"]), pairs.get("user"))
        return target == (row["host"] or None, str(row["port"]), row["database"], row["force_user"])


def read(main: str, ours: Mapping[str, str], load: Load) -> Reading:
    """Read a main file and all that it includes; `ours` are texts of the panel's files, whose lines are left out."""
    reading = Reading()
    _read_file(reading, main, MAIN, "", ours, load, 0)
    return reading


def names_in(text: str) -> set[str]:
    """Return the names of the entries in one file, without those that it includes."""
    return set(read(text, {}, lambda _path: "").of("databases"))


def of_folder(pooler: Pooler, main: str, ours: Mapping[str, str], folder_there: str) -> Reading:
    """Read from the main file in a pooler's folder, which is `folder_there` for PgBouncer itself."""
    start = working_folder(pooler)

    def load(path: str) -> str:
        return pooler_files.text_at(pooler, here(path, start, pooler.config_dir, folder_there))

    return read(main, ours, load)


def included_here(pooler: Pooler, reading: Reading) -> Iterator[str]:
    """Yield the included files that are not the panel's, as paths of this host."""
    start = "" if all(path.startswith("/") for path in reading.includes) else working_folder(pooler)
    for path in reading.includes:
        if PurePosixPath(path).name not in (DATABASES, SETTINGS):
            yield str(PurePosixPath(start or pooler.config_dir, path))


def working_folder(pooler: Pooler) -> str:
    """Return the working directory of its process; empty where that can't be seen from here."""
    delivery = deliveries.of(pooler)
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            found = host_processes.of(pooler, host, "pgbouncer") if host else []
        return next((one.cwd for one in found if one.cwd), "")
    for pid in local_process.pids(pooler, "pgbouncer"):
        with suppress(psutil.Error, OSError):
            return psutil.Process(pid).cwd()
    return ""


def here(path: str, start: str, config_dir: str, folder_there: str) -> str:
    """Return a path of PgBouncer's as it is here; raises `OSError` for one that is elsewhere."""
    whole = PurePosixPath(start or folder_there, path)
    within = PurePosixPath(os.path.normpath(whole))
    if within.is_relative_to(folder_there):
        return str(PurePosixPath(config_dir, within.relative_to(folder_there)))
    if folder_there != config_dir:
        raise OSError(_("it is in the file system of another host or container"))
    return str(whole)


def folder_there(pooler: Pooler, conffile: str) -> str:
    """Return the folder of the main file as PgBouncer can name it; `conffile` is that of SHOW CONFIG."""
    path = PurePosixPath(conffile or pooler.config_file)
    if not path.is_absolute() and working_folder(pooler):
        return pooler.config_dir
    return str(path.parent)


def shortened(file: str) -> str:
    """Return the name of a file for a sentence."""
    return file if "/" not in file else PurePosixPath(file).name


def _read_file(
    reading: Reading, text: str, file: str, section: str, ours: Mapping[str, str], load: Load, depth: int
) -> str:
    """Add the lines of a text; return the section in which the file that includes it goes on."""
    is_ours = PurePosixPath(file).name in (DATABASES, SETTINGS)
    for number, found in (_turns if is_ours else _tokens)(text):
        if found["include"] is not None:
            path = found["include"].rstrip()
            reading.includes.append(path)
            if PurePosixPath(path).name == SETTINGS:
                reading.above, reading.reset = len(reading.lines), None
            if (included := _included(reading, path, ours, load, depth + 1)) is not None:
                section = _read_file(reading, included, path, section, ours, load, depth + 1)
        elif found["section"] is not None:
            section = found["section"]
            if section == "pgbouncer":  # each such header sets every setting to its default again
                reading.lines = [line for line in reading.lines if line.section != section]
                if reading.above is not None:
                    reading.above, reading.reset = 0, Line(section, "", "", file, number)
        elif found["key"]:
            reading.lines.append(Line(section, found["key"].strip("'"), found["value"].rstrip(), file, number))
    return section


def _included(reading: Reading, path: str, ours: Mapping[str, str], load: Load, depth: int) -> str | None:
    """Return the text of an included file; None where it can't be read, or where PgBouncer would not go on."""
    name = PurePosixPath(path).name
    if name in (DATABASES, SETTINGS):
        return ours.get(name, "")
    if depth > DEEPEST:
        reading.unread[path] = _("PgBouncer reads no file that is included so deep")
        return None
    try:
        return reading.files.setdefault(path, load(path))
    except OSError as error:
        reading.unread[path] = error.strerror or str(error)
        return None


def _tokens(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the tokens of cfparser.c with their line numbers, up to the line at which it would stop."""
    at, number = 0, 1
    while found := TOKEN.match(text, at):
        number += text.count("\n", at, found.end())
        at = found.end()
        yield number, found


def _turns(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the includes and headers among the tokens, with their line numbers: entries are passed over all at once."""
    at, number = 0, 1
    while found := TOKEN.match(text, _after_plain_lines(text, at)):
        number += text.count("\n", at, found.end())
        at = found.end()
        if not found["key"]:
            yield number, found


def _after_plain_lines(text: str, at: int) -> int:
    found = PLAIN_LINES.match(text, at)
    return found.end() if found else at
