"""Reads the lines of PgBouncer's log; pure.

    2026-11-28 09:05:07.123 UTC [812] WARNING C-0x55d0c8: shop/app@10.0.0.7:51044 pooler error: no such user

A line of another form is left out: whatever file the setting names, only what PgBouncer wrote is shown of it.
"""

import re
from collections.abc import Iterator

from pools.poolers.pgbouncer.log_messages import KNOWN, OF_SERVER, OWN
from pools.poolers.pooler_log import LEVELS, KnownMessage, LogLine
from pools.poolers.shown_secrets import MASK, WITHIN

LONGEST = 500  # characters of a message
LINE = re.compile(
    rf"(?P<at>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}}(?: [\w+-]{{1,10}})?) \[(?P<pid>\d{{1,10}})\]"
    rf" (?P<level>{'|'.join(LEVELS)}) "
    r"(?:(?P<socket>[CS]-0x[0-9a-f]+): (?P<who>\S*?/.*?)"
    r"@(?P<address>(?:\d+(?:\.\d+){3}|\[[^\]]*\]|unix(?:\(\d+\))?|\(bad-af\)):\d+) )?(?P<text>.*)"
)
NOBODY = ("(nodb)", "(nouser)")
WRAPPED = re.compile(r"^(?:pooler error: |closing because: )+|\s*\(age=\s*\d+s\)$")


def parse(text: str) -> Iterator[LogLine]:
    """Yield the lines of a log's end, of which the first may be cut; secrets in a message are dots."""
    for line in text.splitlines():
        if found := LINE.fullmatch(line):
            yield _line(found)


def reason_of(text: str) -> str:
    """Return a message without what says that a connection ends by it."""
    return WRAPPED.sub("", text)


def _line(found: "re.Match[str]") -> LogLine:
    text = WITHIN.sub(rf"\1{MASK}", found["text"])[:LONGEST]
    database, _slash, user = (found["who"] or "").partition("/")
    known, detail = _known_of(text)
    return LogLine(
        found["at"],
        int(found["pid"]),
        found["level"],
        text,
        "" if database in NOBODY else database,
        "" if user in NOBODY else user,
        found["address"] or "",
        found["socket"] or "",
        known,
        detail,
        _sqlstate_of(text),
    )


def _known_of(text: str) -> tuple[KnownMessage | None, str]:
    """Return the known message of a text, and what it names."""
    reason = reason_of(text)
    for known in KNOWN:
        if found := known.pattern.match(reason):
            return known, next((group for group in found.groups() if group), "")
    return None, ""


def _sqlstate_of(text: str) -> str:
    if text.startswith("pooler error: "):
        return OWN
    if "server login failed: " not in text:
        return ""
    return next((code for pattern, code in OF_SERVER if pattern.search(text)), "")
