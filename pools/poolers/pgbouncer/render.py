"""The files of a PgBouncer: pooldeck.ini (the panel's), userlist.txt (shared) and one line of pgbouncer.ini."""

import re
from collections.abc import Iterable, Mapping

from pools.poolers.pgbouncer.entries import Entry

DATABASES, USERLIST, MAIN = "pooldeck.ini", "userlist.txt", "pgbouncer.ini"
FILES = (USERLIST, DATABASES, MAIN)
MARK = "; ---- Pooldeck writes what follows and replaces it with each apply; what stands above is kept ----\n"
HEAD = "; Pooldeck writes this file and replaces it with each apply; entries of your own belong into pgbouncer.ini.\n"
DOTS = "••••"
USER = re.compile(r'^\s*"((?:[^"\n]|"")*)"\s+"((?:[^"\n]|"")*)"', re.MULTILINE)
INCLUDE = re.compile(rf"^%include\s+(?:.*/)?{re.escape(DATABASES)}\s*$", re.MULTILINE)
SECTION = re.compile(r"^\s*\[(\w+)\]", re.MULTILINE)
SECRETS = re.compile(r"""(\bpassword\s*=\s*)(?:'(?:[^'\n]|'')*(?:'|$)|\S+)""", re.IGNORECASE | re.MULTILINE)


def databases(entries: Iterable[Entry]) -> str:
    """The text of pooldeck.ini."""
    lines = [entry.line() for entry in sorted(entries, key=lambda entry: entry.name)]
    return "\n".join([HEAD + "[databases]", *lines]) + "\n"


def userlist(kept: str, secrets: Mapping[str, str]) -> str:
    """The text of userlist.txt: the operator's part as it stands, then the panel's users and their passwords."""
    if kept and not kept.endswith("\n"):
        kept += "\n"
    lines = [f"{_doubled(user)} {_doubled(secret)}\n" for user, secret in sorted(secrets.items())]
    return kept + MARK + "".join(lines)


def kept_part(text: str) -> str:
    """What the operator wrote in userlist.txt: all of it before the first apply, then what is above the mark."""
    return text.split(MARK)[0].removeprefix("\ufeff")


def users(text: str) -> dict[str, str]:
    """User → secret of a userlist.txt."""
    return {name.replace('""', '"'): secret.replace('""', '"') for name, secret in USER.findall(text)}


def broken_line(text: str) -> int:
    """The first line of a userlist.txt at which PgBouncer would stop reading, all passwords blanked; 0 for none."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith(";") and not USER.match(line):
            return number
    return 0


def with_include(main: str, folder: str) -> str:
    """pgbouncer.ini with the line that reads pooldeck.ini, at its end so that a fault above it changes no pool."""
    if INCLUDE.search(main):
        return main
    return f"{main.rstrip()}\n\n; pools made in Pooldeck\n%include {folder}/{DATABASES}\n"


def own_names(main: str) -> set[str]:
    """The keys of the operator's own [databases] entries in pgbouncer.ini."""
    sections = SECTION.split(main)
    inside = "\n".join(body for name, body in zip(sections[1::2], sections[2::2], strict=True) if name == "databases")
    return set(re.findall(r"^\s*([A-Za-z0-9_.*-]+)\s*=", inside, re.MULTILINE))


def masked(texts: Mapping[str, str]) -> dict[str, str]:
    """The files with dots where a password stands, or could stand in a line that is broken."""
    return {
        name: "\n".join(map(_masked_user, text.split("\n"))) if name == USERLIST else SECRETS.sub(rf"\g<1>{DOTS}", text)
        for name, text in texts.items()
    }


def ours(name: str, text: str) -> str:
    """The part of a file that an apply replaces."""
    if name == USERLIST:
        return text.partition(MARK)[2]
    return text if name == DATABASES else ""


def _masked_user(line: str) -> str:
    if found := USER.match(line):
        return f'"{found[1]}" "{DOTS}"'
    return line if '"' not in line else DOTS


def _doubled(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
