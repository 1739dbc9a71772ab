"""Scripts with sampled values of columns, which everyone who reads runs would see: e-mail addresses, card numbers.

Such a script is kept without them, as the query that pg_stat_statements has, below a comment that holds the whole text
encrypted. So it goes wherever scripts go, into options, playbooks, forms and reports, and only the run that executes it
opens it: against the same database, and with the visible part unchanged. What the program prints is masked.
"""

import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from uuid import UUID

from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from benchmarks.models import Run
from benchmarks.models.options import RunOptions, RunScript
from core.lib import crypto
from core.lib.crypto import SealBroken
from pools.clusters import literals

BEGINNING = "-- sampled values, encrypted: "
NOT_SHOWN = "(not shown)"
SHORT = 4  # characters of a value that may stand by chance in a line
BEGINS_WITH = 12  # characters by which a line of a script is recognized: pgbench prints the first 127 of a statement

_SEALED = re.compile(rf"{BEGINNING}(?P<seal>[\w=-]+)\n(?P<shown>.*)", re.DOTALL)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_EXCERPT = re.compile(r"\b(LINE [0-9]+: ).*")


def sealed(cluster: UUID, database: str, *, shown: str, text: str) -> str:
    """Return the script `shown`, with the encrypted `text` that is executed in its place."""
    return f"{BEGINNING}{crypto.seal(text, _owner(cluster, database, shown))}\n{shown}"


def opened(run: Run, options: RunOptions) -> RunOptions:
    """Return the options with the whole texts of sealed scripts; raise `Refused` where one was sealed for another."""
    if not (scripts := options.get("scripts")):
        return options
    opened: list[RunScript] = [{**one, "text": _opened(run, one["text"])} for one in scripts]
    return {**options, "scripts": opened}


def _opened(run: Run, script: str) -> str:
    found = _SEALED.fullmatch(script.replace("\r\n", "\n"))
    if found is None:
        return script
    try:
        return crypto.unseal(found["seal"], _owner(run.cluster_id, run.database, found["shown"]))
    except SealBroken:
        text = _(
            "the sampled values of a script are of another database, or it was changed: ask for the recorded mix "
            "again, or put values in place of $1 and leave out the first line"
        )
        raise Refused(text) from None


def _owner(cluster: UUID | None, database: str, shown: str) -> str:
    return f"sampled values of {cluster}/{database}: {sha256(shown.strip().encode()).hexdigest()}"


def mask(before: RunOptions, after: RunOptions) -> Callable[[str], str]:
    """Return a function that hides sampled values in lines of output; the options are those around `opened`."""
    pairs = zip(before.get("scripts") or [], after.get("scripts") or [], strict=True)
    texts = [new["text"] for old, new in pairs if old["text"] != new["text"]]
    if not texts:
        return str
    lines = {line.strip()[:BEGINS_WITH] for text in texts for line in text.splitlines()}
    starts = _any_of(line for line in lines if len(line) == BEGINS_WITH)
    values = _any_of(_as_printed(text[1].replace("''", "'")) for one in texts for text in _TEXT.finditer(one))
    return lambda line: _masked(line, starts, values)


def _masked(line: str, starts: re.Pattern[str], values: re.Pattern[str]) -> str:
    if line.startswith("progress: "):
        return line
    if found := starts.search(line):
        line = line[: found.start()] + literals.without(line[found.start() :])
    return values.sub(NOT_SHOWN, _EXCERPT.sub(rf"\g<1>{NOT_SHOWN}", line))


def _as_printed(value: str) -> str:
    """Return a value as messages have it: a short one only in quotes."""
    return value if len(value) >= SHORT else f'"{value}"'


def _any_of(texts: Iterable[str]) -> re.Pattern[str]:
    listed = sorted({re.escape(text) for text in texts if text}, key=len, reverse=True)
    return re.compile("|".join(listed) or r"(?!)")
