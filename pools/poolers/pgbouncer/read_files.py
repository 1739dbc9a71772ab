"""Every file that a running PgBouncer reads, with its bytes and the place of each line, for a take-over."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from django.utils.translation import gettext as _

from pools.poolers.operators_files import INCLUDED, MAIN, OTHER, RULES, USERS, Load, ReadFile, Unreadable, loaded
from pools.poolers.pgbouncer.database_entries import LOOSE_PAIR
from pools.poolers.pgbouncer.operators_config import DEEPEST, TOKEN

OTHERS = (
    *("auth_ident_file", "client_tls_key_file", "client_tls_cert_file", "client_tls_ca_file"),
    *("server_tls_key_file", "server_tls_cert_file", "server_tls_ca_file"),
)  # settings that name files whose bytes nobody else has to see


class ConfigLine(NamedTuple):
    """A `key = value` with the path of its file, its line, counted from 1, and where it begins in the text."""

    section: str
    key: str
    value: str
    path: str
    number: int
    start: int

    @property
    def pairs(self) -> dict[str, str]:
        """The connection string of an entry by key."""
        return {key: bare or inside.replace("''", "'") for key, inside, bare in LOOSE_PAIR.findall(self.value)}


@dataclass
class FileSet:
    """The files that PgBouncer reads, in its order; `unread` are paths that can't be read here, with the reason."""

    files: dict[str, ReadFile] = field(default_factory=dict)
    lines: list[ConfigLine] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    load: Load = field(default=lambda _path: None, repr=False)

    @property
    def main(self) -> ReadFile:
        """The file that PgBouncer was started with."""
        return next(file for file in self.files.values() if file.role == MAIN)

    @property
    def users(self) -> ReadFile | None:
        """The file that auth_file names; None where it was not read, or there is none."""
        return next((file for file in self.files.values() if file.role == USERS), None)

    def of(self, section: str) -> dict[str, list[ConfigLine]]:
        """Return key → its lines, of which the last one counts; a [pgbouncer] header forgets those above it."""
        found: dict[str, list[ConfigLine]] = {}
        for line in self.lines:
            if line.section == section:
                found.setdefault(line.key, []).append(line)
        return found


def read(main: str, folder: str, config: Mapping[str, str], load: Load) -> FileSet:
    """Read a main file, what it includes, and the files that SHOW CONFIG (`config`) names.

    `folder` is PgBouncer's working directory, from which it takes relative paths. Raises `Unreadable`.
    """
    found = FileSet(load=load)
    _read_main(found, main, folder)
    for name in (USERS, RULES, *OTHERS):
        path = config.get(name)
        if path:
            with suppress(OSError):
                _add(found, path, folder, name if name in (USERS, RULES) else OTHER)
    return found


def here(path: str, folder: str) -> str:
    """Return an absolute path, without `.` and `..`."""
    return os.path.normpath(PurePosixPath(folder or "/", path))


def _read_main(found: FileSet, main: str, folder: str) -> None:
    try:
        file = _add(found, main, folder, MAIN)
    except OSError as error:
        text = _("%(path)s can't be read here: %(reason)s")
        raise Unreadable(text % {"path": main, "reason": error.strerror or error}) from error
    _read_lines(found, file, "", folder, 0)


def _add(found: FileSet, path: str, folder: str, role: str) -> ReadFile:
    """Read a file unless it was read before; raises `OSError`, and records it for one that can't be read."""
    whole = here(path, folder)
    if whole not in found.files:
        try:
            found.files[whole] = loaded(found.load, whole, role)
        except OSError as error:
            found.unread[whole] = error.strerror or str(error)
            raise
    return found.files[whole]


def _read_lines(found: FileSet, file: ReadFile, section: str, folder: str, depth: int) -> str:
    """Add the lines of a file; return the section in which the file that includes it goes on."""
    text = file.text
    for token in _tokens(text):
        if token["include"] is not None:
            section = _include(found, token["include"].rstrip(), section, folder, depth + 1)
        elif token["section"] is not None:
            section = token["section"]
            if section == "pgbouncer":  # each such header sets every setting to its default again
                found.lines = [line for line in found.lines if line.section != section]
        elif token["key"]:
            start = token.start("key")
            number, key = text.count("\n", 0, start) + 1, token["key"].strip("'")
            found.lines.append(ConfigLine(section, key, token["value"].rstrip(), file.path, number, start))
    return section


def _include(found: FileSet, path: str, section: str, folder: str, depth: int) -> str:
    if depth > DEEPEST:
        found.unread[here(path, folder)] = _("PgBouncer reads no file that is included so deep")
        return section
    try:
        file = _add(found, path, folder, INCLUDED)
    except OSError:
        return section
    return _read_lines(found, file, section, folder, depth)


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while token := TOKEN.match(text, at):
        at = token.end()
        yield token
