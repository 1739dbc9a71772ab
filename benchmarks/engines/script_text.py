"""The parts of a script as psql's and pgbench's lexer tells them apart, and the text that pgbench is given; pure.

Follows PostgreSQL's src/fe_utils/psqlscan.l and src/bin/pgbench/exprscan.l. The gate's safety does not rest on this
being exact: a comment taken for one by mistake is blanked, and the gate looks for programs in literals too.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from core.lib import block_comments

PROTOCOLS = ("simple", "extended", "prepared")  # the values of pgbench's --protocol


class Kind(Enum):
    """The kinds of parts that pgbench sees in a script."""

    SQL = "sql"
    COMMENT = "comment"
    LITERAL = "literal"  # a string or a quoted name
    COMMAND = "command"  # a backslash command, to the end of its line


class Part(NamedTuple):
    """One part; `start` is its offset in the script."""

    kind: Kind
    text: str
    start: int


_COMMAND = re.compile(r"\\(?P<rest>(?:\\\n|[^\n])*)")  # a backslash at a line's end continues it on the next one
_ESCAPE_STRING = re.compile(r"(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)", re.DOTALL)
_LITERAL = re.compile(r"""'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)""")
_DOLLAR_QUOTE = re.compile(r"(?<![\w$])(?P<mark>\$(?:[^\W\d]\w*)?\$).*?(?:(?P=mark)|\Z)", re.DOTALL)
_LINE_COMMENT = re.compile(r"--[^\n]*")
_PLAIN = re.compile(r"""[^\\'"$/eE-]+|\\[;:]|.""", re.DOTALL)


def parts(text: str) -> Iterator[Part]:
    """Yield the parts in their order; together they are the whole text."""
    position = 0
    while position < len(text):
        kind, end = _part_at(text, position)
        yield Part(kind, text[position:end], position)
        position = end


def _part_at(text: str, position: int) -> tuple[Kind, int]:
    if text.startswith("/*", position):
        return Kind.COMMENT, block_comments.end_of(text, position)
    if comment := _LINE_COMMENT.match(text, position):
        return Kind.COMMENT, comment.end()
    for pattern in (_ESCAPE_STRING, _LITERAL, _DOLLAR_QUOTE):
        if literal := pattern.match(text, position):
            return Kind.LITERAL, literal.end()
    if text.startswith("\\", position) and not text.startswith(("\\;", "\\:"), position):
        return Kind.COMMAND, _COMMAND.match(text, position).end()  # type: ignore[union-attr]  # it begins so
    return Kind.SQL, _PLAIN.match(text, position).end()  # type: ignore[union-attr]  # it matches any character


def for_pgbench(text: str) -> str:
    """Return the script as pgbench is given it, with the same lines.

    Comments that hold a backslash are blanked, so that no pgbench can read a command in them; the others stay, since
    a server or a pooler may read them as hints. A command of several lines is written on one, and CR LF ends become LF.
    """
    return "".join(_given(part) for part in parts(text.replace("\r\n", "\n")))


def _given(part: Part) -> str:
    if part.kind is Kind.COMMENT and "\\" in part.text:
        return re.sub(r"[^\n]", " ", part.text)
    if part.kind is Kind.COMMAND:
        return "\\" + part.text[1:].replace("\\\n", "  ") + "\n" * part.text.count("\\\n", 1)
    return part.text
