"""Texts with a part for admins only, such as why a server can't be reached.

Such a reason goes as a text through runs, events and revisions, and only the response knows who reads it. Both readings
are therefore in the text itself, between noncharacters of Unicode, which no keyboard and no server sends. The panel's
middleware (`panel.private_texts`) chooses one in each response; a log and a notice for the operator choose with
`for_admins`.
"""

import re
from typing import AnyStr

OPEN, BETWEEN, CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"
_MARKS = str.maketrans("", "", OPEN + BETWEEN + CLOSE)
# Neither reading ends a JSON string, an attribute or a tag, so that a marked span never crosses one, even cut short.
_PLAIN = str.maketrans({'"': "'", "<": "‹", "\n": " ", **dict.fromkeys((OPEN, BETWEEN, CLOSE), None)})


def _pattern(*, escaped: bool) -> str:
    """Return the pattern of a marked span: with the marks as they are, or as `json.dumps` and `repr` write them."""
    marks = [rf"(?:{mark}|\\u{ord(mark):04x})" if escaped else mark for mark in (OPEN, BETWEEN, CLOSE)]
    opening, between, closing = marks
    reading = rf'((?:(?!{"|".join(marks)})[^"<\n])*)'
    return rf"{opening}{reading}(?:{between}{reading}{closing}?)?"


_SPAN = re.compile(_pattern(escaped=False))
_SPAN_IN_BODY = re.compile(_pattern(escaped=True).encode())
_SIGNS = (OPEN.encode()[:2], rf"\u{ord(OPEN):04x}"[:5].encode())  # Every body with a mark contains one of these.


def write(to_admins: str, to_others: str) -> str:
    """Return the text that admins read as the first and everybody else as the second."""
    return f"{OPEN}{for_others(to_others).translate(_PLAIN)}{BETWEEN}{for_admins(to_admins).translate(_PLAIN)}{CLOSE}"


def for_admins(text: str) -> str:
    """Return the text as admins, the log and the operator's notices have it."""
    return _read(text, is_admin=True)


def for_others(text: str) -> str:
    """Return the text as those have it who may not register servers."""
    return _read(text, is_admin=False)


def _read(text: str, *, is_admin: bool) -> str:
    return _SPAN.sub(lambda span: _chosen(span, is_admin), text).translate(_MARKS) if OPEN in text else text


def is_in(body: bytes) -> bool:
    """Tell whether a response's body may have a marked span."""
    return any(sign in body for sign in _SIGNS)


def in_body(body: bytes, *, is_admin: bool) -> bytes:
    """Return the body with one of the readings in place of each marked span."""
    return _SPAN_IN_BODY.sub(lambda span: _chosen(span, is_admin), body)


def _chosen(span: re.Match[AnyStr], is_admin: bool) -> AnyStr:
    to_others, to_admins = span.groups()
    return to_admins if is_admin and to_admins is not None else to_others
