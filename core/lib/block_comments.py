"""Where SQL's block comments end; pure.

They nest (src/backend/parser/scan.l, src/fe_utils/psqlscan.l), so no regular expression finds their end.
"""

import re

_MARK = re.compile(r"/\*|\*/")


def end_of(text: str, start: int) -> int:
    """Return the offset after the comment that begins at `start`; one that is not closed goes to the end."""
    depth = 0
    for mark in _MARK.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    return len(text)
