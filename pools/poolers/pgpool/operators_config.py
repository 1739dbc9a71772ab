"""What a Pgpool-II reads: the files that its command line names, and those that its main file includes (from 4.3)."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.models import Pooler
from pools.poolers import command_lines, operators_files
from pools.poolers.operators_files import INCLUDED, OTHER, ReadFile, Unreadable, loaded
from pools.poolers.pgpool import render
from pools.poolers.pgpool.render import HBA, MAIN, PASSWD, PCP

PROGRAM = "pgpool"
FOLDER = PurePosixPath("/etc/pgpool2")  # of Debian's package; others have their own
OPTIONS = {"-f": MAIN, "--config-file": MAIN, "-a": HBA, "--hba-file": HBA, "-F": PCP, "--pcp-file": PCP}
INCLUDE = re.compile(r"^[ \t]*include[ \t]*=?[ \t]*'([^'\n]+)'", re.IGNORECASE | re.MULTILINE)
OTHERS = ("ssl_key", "ssl_cert", "ssl_ca_cert", "ssl_crl_file", "ssl_dh_params_file")
DEEPEST = 10
ROLES = {HBA: "pool_hba", PASSWD: "pool_passwd", PCP: "pcp"}


@dataclass
class FileSet:
    """What Pgpool-II reads, in its order; `paths` by the panel's names, `unread` those that can't be read here."""

    paths: dict[str, str]
    files: dict[str, ReadFile] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    text: str = ""  # of the main file, with what it includes in place

    @property
    def main(self) -> ReadFile:
        """Its pgpool.conf."""
        return self.files[self.paths[MAIN]]

    def text_of(self, name: str) -> str:
        """Return the text of a file by the panel's name; empty where there is none."""
        file = self.files.get(self.paths[name])
        return file.text if file else ""

    def line_of(self, setting: str) -> tuple[str, int]:
        """Return the file and the line that set something; the main file's first where none does."""
        pattern = re.compile(rf"^[ \t]*{re.escape(setting)}[ \t]*=?[ \t]*['\w]", re.MULTILINE)
        for file in self.files.values():
            if file.role in (operators_files.MAIN, INCLUDED) and (found := list(pattern.finditer(file.text))):
                return file.path, file.text.count("\n", 0, found[-1].start()) + 1
        return self.main.path, 1


def paths_in(argv: Sequence[str]) -> dict[str, str]:
    """Return the paths that a command line names by the panel's names of the files."""
    found: dict[str, str] = {}
    words = iter(argv[1:])
    for word in words:
        option, sign, value = word.partition("=")
        if name := OPTIONS.get(option):
            found[name] = value if sign else next(words, "")
        elif not word.startswith("--") and (name := OPTIONS.get(word[:2])) and len(word) > 2:
            found[name] = word[2:]
    return found


def read(pooler: Pooler, config_file: str, pid_file: str) -> FileSet:
    """Read all that Pgpool-II reads. Raises `Unreadable`."""
    command = command_lines.of_pid_file(pooler, PROGRAM, pid_file) or command_lines.of_listener(pooler, PROGRAM)
    named = {name: command.path_of(path) for name, path in paths_in(command.argv).items()} if command else {}
    if command:
        named.setdefault(MAIN, str(FOLDER / MAIN))
    main = config_file or named.get(MAIN, "")
    if not main.startswith("/"):
        raise Unreadable(_("no process of it can be seen on its host: give the path of its pgpool.conf"))
    if named and main != named[MAIN]:
        text = _("Pgpool-II was started with %(live)s, not with %(path)s: name that file")
        raise Unreadable(text % {"live": named[MAIN], "path": main})
    folder = FOLDER if command else PurePosixPath(main).parent
    found = FileSet({MAIN: main, **{name: named.get(name) or str(folder / name) for name in (HBA, PCP)}})
    _add(found, pooler, main, operators_files.MAIN)
    if main not in found.files:
        raise Unreadable(_("%(path)s can't be read here: %(reason)s") % {"path": main, "reason": found.unread[main]})
    found.text = "".join(_included(found, pooler, found.main, 0))
    values = render.values_in(found.text)
    found.paths[PASSWD] = str(PurePosixPath(main).parent / (values.get("pool_passwd") or PASSWD))
    for name, role in ROLES.items():
        _add(found, pooler, found.paths[name], role)
    for path in filter(None, (values.get(name) for name in OTHERS)):
        if path.startswith("/"):
            _add(found, pooler, path, OTHER)
    return found


def _included(found: FileSet, pooler: Pooler, file: ReadFile, depth: int) -> Iterator[str]:
    """Yield the text of a file with those that it includes in their places."""
    at = 0
    for match in INCLUDE.finditer(file.text):
        yield file.text[at : match.start()]
        at = match.end()
        path = str(PurePosixPath(file.path).parent / match[1])
        if depth < DEEPEST:
            _add(found, pooler, path, INCLUDED)
            if inner := found.files.get(path):
                yield from _included(found, pooler, inner, depth + 1)
    yield file.text[at:]


def _add(found: FileSet, pooler: Pooler, path: str, role: str) -> None:
    if path in found.files:
        return
    try:
        found.files[path] = loaded(lambda at: deliveries.of(pooler).file_at(pooler, at), path, role)
    except FileNotFoundError as error:
        if role not in ROLES.values():  # it can be without these
            found.unread[path] = error.strerror or str(error)
    except OSError as error:
        found.unread[path] = error.strerror or str(error)


def admitting(text: str, database: str) -> bool:
    """Return whether rules of a pool_hba.conf let anybody in to a database by a password, or without."""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if len(words) < 4 or words[1].strip('"') not in ("all", database):
            continue
        with suppress(IndexError):
            if "reject" not in words[3:]:
                return True
    return False
