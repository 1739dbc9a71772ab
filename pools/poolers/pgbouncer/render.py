"""The files of a PgBouncer: those the panel writes whole, userlist.txt (shared) and two lines of pgbouncer.ini."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from types import MappingProxyType

from pools.poolers.pgbouncer.database_entries import Entry
from pools.poolers.pgbouncer.global_settings import FILES as PROGRAM_FILES
from pools.poolers.pgbouncer.global_settings import SETTINGS, Limits, users_section
from pools.poolers.session import Files
from pools.poolers.shown_secrets import MASK

DATABASES, USERLIST, MAIN = "pooldeck.ini", "userlist.txt", "pgbouncer.ini"
FILES = (*PROGRAM_FILES, USERLIST, DATABASES, MAIN)  # each after those it leads to: a crash between is whole
MARK = "; ---- Pooldeck writes what follows and replaces it with each apply; what stands above is kept ----\n"
KEPT = (
    "; ---- Users of removed pools whom other entries look up: PgBouncer asks no more for one that it had here ----\n"
)
PEERS_HEADER = "[peers]"
HEAD = "; Pooldeck writes this file and replaces it with each apply; entries of your own belong in pgbouncer.ini.\n"
USER = re.compile(r'^\s*"((?:[^"\n]|"")*)"\s+"((?:[^"\n]|"")*)"', re.MULTILINE)
INCLUDE = re.compile(rf"^%include\s+(?:.*/)?{re.escape(DATABASES)}\s*$", re.MULTILINE)
SETTINGS_INCLUDE = re.compile(rf"^%include\s+(?:.*/)?{re.escape(SETTINGS)}\s*$", re.MULTILINE)
SETTINGS_COMMENT = "; settings made in Pooldeck"
SECTION = re.compile(r"^\s*\[(\w+)\]", re.MULTILINE)
PEERS = re.compile(rf"\n({re.escape(PEERS_HEADER)}\n(?:\d+ = .*\n)*)")  # `^` would be tried at each letter
END = re.compile(r"^\s*(?:\[\w+\]|%include[ \t]+(?P<path>[^\n]*?)[ \t\r]*$)", re.MULTILINE)  # A section ends here.
GoesOn = Callable[[str], bool]  # takes the path in a line that includes a file
SECRETS = re.compile(
    # a set of first letters, and not a word that begins anywhere: six times as fast
    r"""([pP](?i:assw(?:(?<!\w.....)ord|d))\s*=\s*)(?:'(?:[^'\n]|'')*(?:'|$)|"[^"\n]*(?:"|$)|\S+)""",
    re.MULTILINE,
)
PRIVATE_KEY = re.compile(r"(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)")


def databases(
    entries: Iterable[Entry], users: Limits, line: Callable[[Entry], str] = Entry.line, peers: str = ""
) -> str:
    """Render pooldeck.ini; `line` renders an entry, `peers` is the section of the processes that share the port.

    That comes first, so that what an operator adds below the line that includes the file is in the section of before.
    """
    lines = map(line, sorted(entries, key=attrgetter("name")))
    return "\n".join([HEAD + peers + "[databases]", *lines]) + "\n" + users_section(users)


def peers_of(text: str) -> str:
    """Return the section of the peers in a pooldeck.ini; empty for none."""
    found = PEERS.search(f"\n{text}")  # of a file by hand it may be the first line
    return found[1] if found else ""


def userlist(kept: str, secrets: Mapping[str, str], queried: Mapping[str, str] = MappingProxyType({})) -> str:
    """Render userlist.txt: the operator's part unchanged, then the panel's users and their passwords.

    Last come users that no pool needs any more, and whom look-ups serve (`userlist.still_queried`).
    """
    if kept and not kept.endswith("\n"):
        kept += "\n"
    return with_kept(kept + MARK + _user_lines(secrets), queried)


def kept_part(text: str) -> str:
    """Return the operator's part of userlist.txt: all of it before the first apply, else what is above the mark."""
    return text.split(MARK)[0].removeprefix("\ufeff")


def with_kept(text: str, queried: Mapping[str, str]) -> str:
    """Add the users of removed pools to a userlist.txt without any."""
    if not queried:
        return text
    whole = text if MARK in text else userlist(text, {})
    return whole + KEPT + _user_lines(queried)


def without_unknown(text: str, known: Collection[str]) -> str:
    """Return a userlist.txt that keeps of removed pools only users whom PgBouncer has had there."""
    above, _, below = text.partition(KEPT)
    return with_kept(above, {user: secret for user, secret in users(below).items() if user in known})


def users(text: str) -> dict[str, str]:
    """Return user → secret of a userlist.txt."""
    return {name.replace('""', '"'): secret.replace('""', '"') for name, secret in USER.findall(text)}


def broken_line(text: str) -> int:
    """Return the first line at which PgBouncer would stop reading a userlist.txt; 0 for none."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith(";") and not USER.match(line):
            return number
    return 0


def with_include(main: str, folder: str) -> str:
    """Add the line that reads pooldeck.ini at the end of pgbouncer.ini, so that a fault above it changes no pool."""
    if INCLUDE.search(main):
        return main
    own = main.rstrip("\n")  # The CR stays: it is the end of the operator's last line.
    return f"{own}\n\n; pools made in Pooldeck\n%include {folder}/{DATABASES}\n"


def missing_includes(mains: Mapping[str, str], folder: str, *, with_settings: bool) -> Iterator[tuple[str, str]]:
    """Yield the main files that lack an include of the panel's files, with it."""
    for name, text in mains.items():
        main = with_include(with_settings_include(text, folder) if with_settings else text, folder)
        if main != text:
            yield name, main


def with_settings_include(main: str, folder: str, goes_on: GoesOn = lambda _path: False) -> str:
    """Add the line that reads pooldeck_settings.ini, as `with_last_lines` does."""
    if SETTINGS_INCLUDE.search(main):
        return main
    return with_last_lines(main, SETTINGS_COMMENT, f"%include {folder}/{SETTINGS}", goes_on=goes_on)


def without_settings_include(main: str) -> str:
    """Take out the lines that `with_settings_include` added, so that they can be added elsewhere."""
    return _including(SETTINGS).sub("", main)


def with_last_lines(main: str, *lines: str, goes_on: GoesOn = lambda _path: False) -> str:
    """Add these lines at the end of the last [pgbouncer] section; return `main` where it has none.

    There and under no header of their own, since each `[pgbouncer]` header sets every key to its default again,
    while an included file goes on in the section that includes it (both seen on 1.18 and 1.24). An include of the
    operator's may leave the section, so they go in before the first one of which `goes_on` does not say that the
    section goes on below it.
    """
    headers = [found for found in SECTION.finditer(main) if found[1] == "pgbouncer"]
    if not headers:
        return main
    after = headers[-1].end()
    ends = (found.start() for found in END.finditer(main[after:]) if not (found["path"] and goes_on(found["path"])))
    body = main[after : after + next(ends, len(main))].splitlines(keepends=True)
    while body and (not body[-1].strip() or body[-1].lstrip()[0] in ";#"):
        body.pop()
    at = after + len("".join(body))
    if (end := re.compile(r"\r?\n").match(main, at)) and not main[:at].endswith("\n"):
        at = end.end()  # the header's own line ends first
    return "\n".join([main[:at].removesuffix("\n"), *lines, ""]) + main[at:]


def without_includes(main: str) -> str:
    """Remove the lines that include the panel's files, with the panel's comments above them, wherever they stand."""
    return _including(DATABASES, SETTINGS).sub("", main)


def masked(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files with dots for passwords and keys, and for broken lines that may contain one."""
    return {name: _masked(name, text) for name, text in texts.items()}


def ours(name: str, text: str) -> str:
    """Return the part of a file that an apply replaces."""
    if name == USERLIST:
        return text.partition(MARK)[2].partition(KEPT)[0]
    return "" if name == MAIN else text


def _masked(name: str, text: str) -> str:
    if name == USERLIST:
        return "\n".join(map(_masked_user, text.split("\n")))
    return PRIVATE_KEY.sub(rf"\g<1>\n{MASK}\n\g<2>", SECRETS.sub(rf"\g<1>{MASK}", text))


def _masked_user(line: str) -> str:
    if found := USER.match(line):
        return f'"{found[1]}" "{MASK}"'
    return line if '"' not in line else MASK


def _user_lines(secrets: Mapping[str, str]) -> str:
    return "".join(f"{_doubled(user)} {_doubled(secret)}\n" for user, secret in sorted(secrets.items()))


def _doubled(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _including(*names: str) -> re.Pattern[str]:
    """Match the lines of a main file that include these files of the panel, with its comments above them."""
    files = "|".join(map(re.escape, names))
    comment = r"(?:^; (?:pools|settings) made in Pooldeck\r?\n)?"
    return re.compile(rf"{comment}^%include[ \t]+(?:[^\n]*/)?(?:{files})[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


def text_of(contents: Files, name: str) -> str:
    """Return the text of a file; empty for none. Bytes that are not UTF-8 survive."""
    return (contents.get(name) or b"").decode(errors="surrogateescape")
