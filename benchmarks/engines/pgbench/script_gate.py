"""Gate for scripts: lets none through that could start a program on the worker's host; pure.

pgbench's `\\shell` and `\\setshell` run a shell in every version, whatever case, blanks, comments or quotes
surround them, and no flag turns them off. So the gate does not search for them: it knows the few places where a
backslash may be, and refuses every other one, in literals and comments too. What it lets through runs in
`benchmarks.processes.sandbox`.
"""

import re

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.errors import BenchmarksError

MAX_SCRIPTS = 128  # of one run: pgbench's own limit
MAX_SCRIPT_BYTES = 64 * 1024
MAX_RUN_BYTES = 256 * 1024
SHOWN_CHARACTERS = 80

# Each with the first major version that knows it; a version before would take it for an error or for SQL.
STARTING_A_LINE = {
    "set": 9,
    "sleep": 9,
    "if": 11,
    "elif": 11,
    "else": 11,
    "endif": 11,
    "startpipeline": 14,
    "endpipeline": 14,
    "syncpipeline": 17,
}
ENDING_A_STATEMENT = {"gset": 12, "aset": 13}
NEWEST = 10**6

_BYTE_ORDER_MARK = "\ufeff"  # pgbench would send it as a part of the first statement
_LINE_END = re.compile(r"[\n\r]")
# pgbench takes any white space of C as a blank; here only blank and tab, which a reader can see
_META_LINE = re.compile(rf"[ \t]*\\(?P<word>{'|'.join(STARTING_A_LINE)})(?![^ \t])[^\\]*")
_RESULT_END = re.compile(rf"\\(?P<word>{'|'.join(ENDING_A_STATEMENT)})(?:[ \t]+[A-Za-z_][A-Za-z0-9_]*)?[ \t]*")


class ScriptRefused(BenchmarksError):
    """A script that pgbench must not be given; `line` counts from 1, None where the whole script is meant."""

    def __init__(self, reason: str, line: int | None = None, text: str = "") -> None:
        where = {"line": line, "text": _shown(text), "reason": reason}
        if line and text:
            reason = _("line %(line)s (%(text)s): %(reason)s") % where
        elif line:
            reason = _("line %(line)s: %(reason)s") % where
        super().__init__(reason)
        self.line = line


def check(text: str, *, major: int = NEWEST) -> None:
    """Raise `ScriptRefused` unless a pgbench of this major version may be given the script."""
    _check_whole(text)
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if reason := _why_not(line, major):
            raise ScriptRefused(reason, number, line)
    if "\r" in text:
        number = len(_LINE_END.split(text[: text.index("\r")]))
        raise ScriptRefused(_("a carriage return ends a line for pgbench: end lines by a line feed alone"), number)


def check_total(texts: list[str]) -> None:
    """Raise `ScriptRefused` where the scripts of one run are too many or too long together."""
    if len(texts) > MAX_SCRIPTS:
        message = ngettext(
            "%(count)s script is more than pgbench takes: use at most %(most)s",
            "%(count)s scripts are more than pgbench takes: use at most %(most)s",
            len(texts),
        )
        raise ScriptRefused(message % {"count": len(texts), "most": MAX_SCRIPTS})
    if (size := sum(len(text.encode()) for text in texts)) > MAX_RUN_BYTES:
        raise ScriptRefused(
            _("the scripts have %(size)s bytes together: use at most %(most)s")
            % {"size": f"{size:,}", "most": f"{MAX_RUN_BYTES:,}"}
        )


def _check_whole(text: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        number = text.count("\n", 0, error.start) + 1
        raise ScriptRefused(_("a character can't be encoded in UTF-8: leave it out"), number) from None
    if size > MAX_SCRIPT_BYTES:
        raise ScriptRefused(
            _("the script has %(size)s bytes: use at most %(most)s")
            % {"size": f"{size:,}", "most": f"{MAX_SCRIPT_BYTES:,}"}
        )
    if "\0" in text:
        raise ScriptRefused(
            _("a NUL ends the script for pgbench: leave it out"), text.count("\n", 0, text.index("\0")) + 1
        )
    if text.startswith(_BYTE_ORDER_MARK):
        raise ScriptRefused(_("the script begins with a byte order mark, which is not SQL: leave it out"), 1)
    if not text.strip():
        raise ScriptRefused(_("the script is empty: write a statement, such as SELECT 1;"))


def _why_not(line: str, major: int) -> str:
    """Return what is wrong with a line; empty where nothing is."""
    if "\\" not in line:
        return ""
    if meta := _META_LINE.fullmatch(line):
        return _too_new(meta["word"], STARTING_A_LINE, major)
    rest = line.replace("\\;", ";")  # a backslash before one of these stays, and is refused
    statement, backslash, after = rest.partition("\\")
    if not backslash:
        return ""
    if ending := _RESULT_END.fullmatch(backslash + after):
        return _too_new(ending["word"], ENDING_A_STATEMENT, major)
    if line.endswith("\\") and ("\\" not in line[:-1] or _META_LINE.fullmatch(line[:-1])):
        return _("the backslash at its end would continue it on the next line: write it on one line")
    return _why_refused(statement, after)


def _too_new(word: str, since: dict[str, int], major: int) -> str:
    if major >= since[word]:
        return ""
    text = _("\\%(word)s needs pgbench %(since)s or newer, this one is %(major)s")
    return text % {"word": word, "since": since[word], "major": major}


def _why_refused(before: str, after: str) -> str:
    word = re.match(r"[a-z]*", after)[0]  # type: ignore[index]  # it always matches
    if word in STARTING_A_LINE and before.strip(" \t"):
        return _("\\%(word)s must be the first on its line") % {"word": word}
    if word in ENDING_A_STATEMENT:
        return _("\\%(word)s must be the last on its line, with at most a prefix of letters and digits after it") % {
            "word": word
        }
    starting = " ".join(f"\\{word}" for word in STARTING_A_LINE)
    ending = " ".join(f"\\{word}" for word in ENDING_A_STATEMENT)
    return _(
        "this backslash is not allowed, since pgbench starts programs by some: use only %(starting)s "
        "first on a line, %(ending)s at the end of a statement, and \\;"
    ) % {"starting": starting, "ending": ending}


def _shown(line: str) -> str:
    text = line.strip()
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…").replace("\\\\", "\\")
