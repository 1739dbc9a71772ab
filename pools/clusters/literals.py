"""Statements without their literals, as pg_stat_statements shows them; pure.

For those who may see what runs, but not the data in it. Parsers refuse a statement that was cut off, and the ones that
pg_stat_activity has are cut, so this reads tokens alone (src/backend/parser/scan.l). Where two readings are possible it
takes the one that hides more. Comments are left out: they hold what was commented out.
"""

import re

from core.lib import block_comments

_TOKEN = re.compile(
    r"""
    (?P<comment>--[^\n]*|/\*)
  | (?P<name>(?:[uU]&)?"(?:[^"]|"")*(?:"|\Z))
  | (?P<literal>
        [eE]'(?:[^'\\]|\\.|''|\\\Z)*(?:'|\Z)
      | (?:[bBxXnN]|[uU]&)?'(?:[^']|'')*(?:'|\Z)
      | \$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)
    )
  | (?P<parameter>\$[0-9]+)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>\.?[0-9](?:[eE][+-][0-9]|[\w.])*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def without(statement: str) -> str:
    """Return the statement with `$n` for each literal, counted on from the parameters that it has."""
    masked: list[str] = []
    number = max((int(one) for one in re.findall(r"\$([0-9]{1,5})\b", statement)), default=0)
    position = 0
    while token := _TOKEN.match(statement, position):
        position = token.end()
        if token["comment"]:
            is_block = token["comment"] == "/*"
            position = block_comments.end_of(statement, token.start()) if is_block else position
        elif token["literal"] or token["number"]:
            number += 1
            masked.append(f"${number}")
            if _may_go_on(token["literal"] or ""):
                break
        else:
            masked.append(token[0])
    return "".join(masked).strip()


def _may_go_on(literal: str) -> bool:
    """Tell whether the literal would not end there with `standard_conforming_strings` off."""
    return "\\'" in literal and literal[0] not in "eE$"
