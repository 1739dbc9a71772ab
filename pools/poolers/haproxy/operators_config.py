"""What an HAProxy reads: the files that its command line names, and the sections in them (its manual, chapters 2 to 4).

Nothing here is as strict as HAProxy itself, which checks the files: unknown lines are skipped.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.models import Pooler
from pools.poolers import command_lines
from pools.poolers.operators_files import INCLUDED, MAIN, OTHER, ReadFile, Unreadable, loaded

PROGRAM = "haproxy"
WITH_A_WORD = {
    "-f",
    "-C",
    "-L",
    "-n",
    "-N",
    "-m",
    "-p",
    "-x",
    "-S",
}  # options that take the next word (management guide)
FRONTS, BACKS = ("listen", "frontend"), ("listen", "backend")
HEADERS = frozenset(
    {"global", "defaults", *FRONTS, "backend", "peers", "resolvers", "userlist", "mailers", "cache", "program"}
    | {"http-errors", "ring", "log-forward", "log-profile", "fcgi-app", "crt-store", "traces", "acme"}
)
FILES = re.compile(r"(?:errorfile \d+|\b(?:crt|ca-file|crl-file|crt-list|lua-load|errorfiles)) (/\S+)")
ADDRESS = re.compile(r"(?:ipv[46]@|tcp[46]?@)?(?P<host>.*):(?P<port>\d+)(?:-(?P<last>\d+))?")
Address = tuple[str, int]


@dataclass(frozen=True)
class Section:
    """A section with its words by line; `defaults` are those that hold for it."""

    kind: str
    name: str
    path: str
    number: int
    lines: tuple[tuple[str, ...], ...] = ()
    defaults: "Section | None" = None

    def all(self, *keyword: str) -> list[tuple[str, ...]]:
        """Return the words after a keyword, of each line that has it."""
        return [words[len(keyword) :] for words in self.lines if words[: len(keyword)] == keyword]

    def last(self, *keyword: str) -> str:
        """Return the first word after the last such keyword, here or in its defaults; empty for none."""
        found = self.all(*keyword) or (self.defaults.all(*keyword) if self.defaults else [])
        return " ".join(found[-1][:1]) if found else ""

    @property
    def is_tcp(self) -> bool:
        """Whether it forwards bytes."""
        return self.last("mode") in ("", "tcp")

    @property
    def is_disabled(self) -> bool:
        """Whether HAProxy leaves it out."""
        return ("disabled",) in self.lines

    @property
    def binds(self) -> list[Address]:
        """The TCP addresses on which it listens; of a range of ports each."""
        return [at for words in self.all("bind") if words for text in words[0].split(",") for at in _addresses(text)]

    @property
    def servers(self) -> list[Address]:
        """The addresses of its servers; the port is 0 where it is that of the client's connection."""
        texts = [words[1] for words in self.all("server") if len(words) > 1]
        texts += [words[2] for words in self.all("server-template") if len(words) > 2]
        return [next(_addresses(text), (text, 0)) for text in texts]


@dataclass
class FileSet:
    """What HAProxy reads, in its order; `unread` are files that can't be read here, with the reason."""

    main: str
    files: dict[str, ReadFile] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def configs(self) -> list[ReadFile]:
        """The configuration files."""
        return [file for file in self.files.values() if file.role != OTHER]

    @property
    def sections(self) -> list[Section]:
        """All sections; those of the panel's part too."""
        return sections({file.path: file.text for file in self.configs})


def named_in(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the folder (-C) and the files and folders (-f, --) that a command line names."""
    words, folder = list(argv[1:]), ""
    found: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            return folder, found + words
        if word in WITH_A_WORD and words:
            value = words.pop(0)
            folder = value if word == "-C" else folder
            found += [value] if word == "-f" else []
    return folder, found


def read(pooler: Pooler, config_file: str, worker: int) -> FileSet:
    """Read all that HAProxy reads. Raises `Unreadable`."""
    command = command_lines.of_worker(pooler, PROGRAM, worker)
    folder, named = named_in(command.argv) if command else ("", [])
    paths = [command.path_of(str(PurePosixPath(folder, one))) for one in named] if command else []
    configs = [path for one in paths for path in _expanded(pooler, one)]
    main = config_file or next(iter(configs), "")
    if not main.startswith("/"):
        raise Unreadable(_("no process of it can be seen on its host: give the path of its main file"))
    if configs and main not in configs:
        text = _("HAProxy was started with %(live)s, not with %(path)s: name one of these files")
        raise Unreadable(text % {"live": ", ".join(configs), "path": main})
    found = FileSet(main)
    for path in configs or [main]:
        _add(found, pooler, path, MAIN if path == main else INCLUDED)
    if main not in found.files:
        raise Unreadable(_("%(path)s can't be read here: %(reason)s") % {"path": main, "reason": found.unread[main]})
    for path in dict.fromkeys(path for file in found.configs for path in FILES.findall(_joined(file.text))):
        _add(found, pooler, path, OTHER)
    return found


def sections(texts: Mapping[str, str]) -> list[Section]:
    """Parse files by path, in their order, into sections."""
    found: list[Section] = []
    defaults: dict[str, Section] = {}
    last: Section | None = None
    for path, text in texts.items():
        for one in _of_file(path, text):
            chosen = defaults.get(_from(one)) if _from(one) else last
            made = Section(one.kind, one.name, path, one.number, one.lines, chosen)
            if one.kind == "defaults":
                last = defaults[one.name] = made
            found.append(made)
    return found


def servers_behind(front: Section, every: Sequence[Section]) -> list[Section]:
    """Return the sections whose servers a listen or a frontend may lead to."""
    if front.kind == "listen" and front.servers:
        return [front]
    names = [words[0] for words in (*front.all("default_backend"), *front.all("use_backend")) if words]
    names = names or [front.last("default_backend")]
    return [one for one in every if one.kind in BACKS and one.name in names]


def serving(every: Sequence[Section], port: int) -> list[Section]:
    """Return the TCP proxies that listen on a port."""
    fronts = [one for one in every if one.kind in FRONTS and one.is_tcp and not one.is_disabled]
    return [one for one in fronts if port in {at[1] for at in one.binds}]


def through(every: Sequence[Section], port: int) -> tuple[str, str] | None:
    """Return the names of the proxy that has a port, and of its one backend; None where it has no such."""
    fronts = serving(every, port)
    behind = servers_behind(fronts[0], every) if len(fronts) == 1 else []
    return (fronts[0].name, behind[0].name) if len(behind) == 1 else None


def _of_file(path: str, text: str) -> Iterator[Section]:
    head: tuple[str, str, int] | None = None
    lines: list[tuple[str, ...]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = _words(line)
        if not words:
            continue
        if words[0] not in HEADERS or (head and head[0] == "global" and words[0] == "traces"):
            lines.append(words)
            continue
        if head:
            yield Section(head[0], head[1], path, head[2], tuple(lines))
        head = words[0], words[1] if len(words) > 1 and words[1] != "from" else "", number
        lines = [("from", words[words.index("from") + 1])] if "from" in words[1:-1] else []
    if head:
        yield Section(head[0], head[1], path, head[2], tuple(lines))


def _from(section: Section) -> str:
    found = section.all("from")
    return found[0][0] if found else ""


def _words(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line, comments=True))
    except ValueError:  # a quote that HAProxy reads otherwise
        return tuple(line.split())


def _joined(text: str) -> str:
    return "\n".join(" ".join(_words(line)) for line in text.splitlines())


def _addresses(text: str) -> Iterator[Address]:
    found = ADDRESS.fullmatch(text)
    if found and not text.startswith(("/", "unix@", "abns@", "fd@", "sockpair@")):
        first, last = int(found["port"]), int(found["last"] or found["port"])
        host = found["host"].removeprefix("[").removesuffix("]")
        for port in range(first, min(last, first + 99) + 1):
            yield host, port


def _expanded(pooler: Pooler, path: str) -> list[str]:
    """Return the file, or the files of a folder as HAProxy takes them: those that end with .cfg, by name."""
    try:
        if deliveries.of(pooler).file_at(pooler, path) is not None:
            return [path]
    except OSError:
        with deliveries.of(pooler).connected(pooler) as host:
            names = sorted(one.name for one in host.list_folder(path)) if host else []
        return [f"{path.rstrip('/')}/{name}" for name in names if name.endswith(".cfg") and not name.startswith(".")]
    return [path]


def _add(found: FileSet, pooler: Pooler, path: str, role: str) -> None:
    if path in found.files:
        return
    try:
        found.files[path] = loaded(lambda at: deliveries.of(pooler).file_at(pooler, at), path, role)
    except OSError as error:
        found.unread[path] = error.strerror or str(error)
