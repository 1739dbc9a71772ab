"""Writes out the lists of names (`@file`) of HBA rules, read as PgBouncer's src/hba.c reads them.

A list has the names of one field: each line one, or several with commas between, `all` and further lists included.
The path is relative to the folder of the file that names it. A rule whose list PgBouncer could not read to the end (a
blank line ends it, as does a comment) is passed over by PgBouncer, so it is no rule here either.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.poolers.pgbouncer import hba

DEEPEST = 10  # lists within lists; PgBouncer itself has no end
SKIPPED = "# passed over, as PgBouncer does: "
Read = Callable[[str], str | None]


class Unread(Exception):
    """Rules that can't be read from here; the message is the reason."""


class SkippedRule(Exception):
    """A rule that PgBouncer itself passes over."""


def written_out(rules: str, path: str, read: Read) -> str:
    """Return the rules of the file at `path` with the names of lists in their place; raises `Unread`.

    Lines without a list stay as they are. `read` returns the text of a file, None where it can't be read from here.
    """
    return "\n".join(_line(line, path, read) for line in rules.split("\n"))


def _line(line: str, path: str, read: Read) -> str:
    fields, rest = hba.first_fields(line)
    if len(fields) < 3 or not any(name.startswith("@") for names in fields[1:] for name in names):
        return line
    try:
        databases, users = (list(_names(names, path, read, 0)) for names in fields[1:])
    except SkippedRule:
        return f"{SKIPPED}{line}"
    if not databases or not users:  # an empty list: the rule fits nobody
        return f"{SKIPPED}{line}"
    return f"{','.join(fields[0])} {_listed(databases)} {_listed(users)}{rest}"


def _names(names: list[str], path: str, read: Read, depth: int) -> Iterator[str]:
    for name in names:
        if name.startswith("@"):
            yield from _of_list(str(PurePosixPath(path).parent / name[1:]), read, depth + 1)
        else:
            yield name


def _of_list(path: str, read: Read, depth: int) -> Iterator[str]:
    listed = read(path) if depth <= DEEPEST else None
    if listed is None:
        text = _(
            "auth_hba_file names a list of names, %(path)s, which can't be read from here: write the names into it"
        )
        raise Unread(text % {"path": path})
    for line in re.findall(r"[^\n]+\n?|\n", listed):
        yield from _names(list(_first_names(line)), path, read, depth)


def _first_names(line: str) -> Iterator[str]:
    """Yield the name that a line begins with, and those after commas; raises `PassedOver` for none."""
    position, is_over = 0, False
    while not is_over:
        found = hba.TOKEN.match(line, position)
        if found is None or found["end"] is not None or found["comma"]:
            raise SkippedRule
        name = found["word"] or hba.QUOTE + (found["quoted"] or "").replace('""', '"')
        if not hba.is_read(name):
            raise SkippedRule
        yield name
        comma = hba.TOKEN.match(line, found.end())
        is_over = comma is None or not comma["comma"]
        position = comma.end() if comma else 0


def _listed(names: list[str]) -> str:
    return ",".join(_written(name) for name in names)


def _written(name: str) -> str:
    """Return a name as it stands in a rule; a quoted one keeps its quotes, so that "all" is no keyword."""
    return '"' + name[1:].replace('"', '""') + '"' if name.startswith(hba.QUOTE) else name
