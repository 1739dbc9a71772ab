"""Gate for scripts: lets none through that could start a program on the worker's host; pure.

pgbench's `\\shell` and `\\setshell` run a shell in every version, whatever case, blanks, comments or quotes surround
them, and no flag turns them off. So the gate does not search for them: it judges the text of
`script_text.for_pgbench`, in which no comment holds a backslash, and there every backslash begins a command of a
short list, or is in a literal and can't begin `shell` or `setshell` if the literal were none. What it lets through
runs in `benchmarks.processes.sandbox`.
"""

import re
from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.engines.script_text import Kind, Part, for_pgbench, parts
from benchmarks.errors import BenchmarksError

MAX_SCRIPTS = 128  # pgbench's own limit for one run
MAX_SCRIPT_BYTES = 64 * 1024
MAX_RUN_BYTES = 256 * 1024
SHOWN_CHARACTERS = 80

# Each with the first major version that knows it; a version before would take it for an error or for SQL.
COMMANDS = {
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
STARTING_A_PROGRAM = ("shell", "setshell")
SHAPES = ("gaussian", "exponential")  # distributions of \\setrandom
NEWEST = 10**6

_BYTE_ORDER_MARK = "\ufeff"  # pgbench would send it as a part of the first statement
# pgbench takes any white space of C as a blank; here only blank and tab, which a reader can see
_COMMAND = re.compile(r"\\[ \t]*(?P<word>[^\s\\]*)(?P<rest>.*)", re.DOTALL)
_PREFIX = re.compile(r"(?:[ \t]+[A-Za-z_][A-Za-z0-9_]*)?[ \t]*")
_PROGRAM_IN_LITERAL = re.compile(r"\\[\s\\]*(?:set)?shell", re.IGNORECASE)
_NOT_TEXT = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")


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
    """Raise `ScriptRefused` unless a pgbench of this major version may be given the script.

    It is given `script_text.for_pgbench(text)`, which has the same lines.
    """
    _check_whole(text)
    script = for_pgbench(text)
    lines = script.split("\n")
    for offset, reason in _faults(script, major):
        number = script.count("\n", 0, offset) + 1
        raise ScriptRefused(reason, number, lines[number - 1])
    if "\r" in script:
        number = script.count("\n", 0, script.index("\r")) + 1
        raise ScriptRefused(_("a carriage return ends a line for pgbench: end lines by a line feed alone"), number)
    if all(part.kind is Kind.COMMENT or not part.text.strip() for part in parts(script)):
        raise ScriptRefused(_("the script holds nothing but comments: write a statement, such as SELECT 1;"))


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
    if found := _NOT_TEXT.search(text):
        raise ScriptRefused(
            _("the character %(code)s is not text: is this a script, in UTF-8?") % {"code": f"U+{ord(found[0]):04X}"},
            text.count("\n", 0, found.start()) + 1,
        )
    if text.startswith(_BYTE_ORDER_MARK):
        raise ScriptRefused(_("the script begins with a byte order mark, which is not SQL: leave it out"), 1)
    if not text.strip():
        raise ScriptRefused(_("the script is empty: write a statement, such as SELECT 1;"))


def _faults(given: str, major: int) -> Iterator[tuple[int, str]]:
    """Yield the offset and the reason of each backslash that pgbench must not be given."""
    for part in parts(given):
        if part.kind is Kind.COMMAND and (reason := _why_not(part.text, major)):
            yield part.start, reason
        elif part.kind is Kind.LITERAL and (program := _PROGRAM_IN_LITERAL.search(part.text)):
            yield part.start + program.start(), _("a literal can't hold \\shell, with which pgbench starts programs")
        elif part.kind is Kind.COMMENT and "\\" in part.text:
            yield _of_stray(part)


def _of_stray(part: Part) -> tuple[int, str]:
    """Return the fault of a backslash in a comment that was not blanked; there should be none."""
    return part.start + part.text.index("\\"), _("this backslash could begin a command of pgbench: leave it out")


def _why_not(command: str, major: int) -> str:
    """Return the fault of a backslash command; empty where it has none."""
    found = _COMMAND.match(command)
    word = found["word"].lower() if found else ""
    if not found or not word:
        return _("this backslash does not begin a command: leave it out")
    if word in COMMANDS and "\\" not in found["rest"] and found["rest"][:1] in ("", " ", "\t", "\n"):
        return _too_new(word, COMMANDS, major)
    if word in ENDING_A_STATEMENT and _PREFIX.fullmatch(found["rest"].rstrip("\n")):
        return _too_new(word, ENDING_A_STATEMENT, major)
    return _why_refused(word, found["rest"])


def _too_new(word: str, since: dict[str, int], major: int) -> str:
    if major >= since[word]:
        return ""
    text = _("\\%(word)s needs pgbench %(since)s or newer, this one is %(major)s")
    return text % {"word": word, "since": since[word], "major": major}


def _why_refused(word: str, rest: str) -> str:
    if word == "setrandom":
        return _setrandom(rest)
    if word in ENDING_A_STATEMENT:
        return _("\\%(word)s must be the last on its line, with at most a prefix of letters and digits after it") % {
            "word": word
        }
    if word in COMMANDS and rest[:1] not in (" ", "\t", "\\"):
        return _("\\%(word)s must be followed by a blank, not by U+%(code)04X") % {
            "word": word,
            "code": ord(rest[0]),
        }
    if word in COMMANDS:
        return _("\\%(word)s takes the rest of its line, which can't hold another backslash: begin a new line") % {
            "word": word
        }
    if word in STARTING_A_PROGRAM:
        return _("\\%(word)s starts a program on the host of the load, which no script may do: leave it out") % {
            "word": word
        }
    allowed = " ".join(f"\\{one}" for one in (*COMMANDS, *ENDING_A_STATEMENT))
    return _("\\%(word)s is not a command that a script may use here: use %(allowed)s, and \\; between statements") % {
        "word": word[:SHOWN_CHARACTERS],
        "allowed": allowed,
    }


def _setrandom(rest: str) -> str:
    """Return a message with the \\set command that replaced this \\setrandom in pgbench 9.6 (its release notes)."""
    words = rest.split()
    name, low, high = words[:3] if len(words) >= 3 else ("aid", "1", ":naccounts")
    shape = words[3].lower() if len(words) == 5 else ""
    function = f"random_{shape}({low}, {high}, {words[4]})" if shape in SHAPES else f"random({low}, {high})"
    return _("\\setrandom was removed in pgbench 9.6: write \\set %(name)s %(function)s in its place") % {
        "name": name,
        "function": function,
    }


def _shown(line: str) -> str:
    text = line.strip()
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…").replace("\\\\", "\\")
