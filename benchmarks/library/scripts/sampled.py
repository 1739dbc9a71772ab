"""Scripts whose placeholders, `$1` and up, get values of the columns beside them when a run starts.

Values of columns are e-mail addresses and card numbers, and everyone who reads runs reads their scripts. So no script
that is kept has them: it says by its first line that its generator draws them, from the statistics of the database that
the run is of and as the role that the run logs in as, and what the program prints is masked.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import psycopg
from django.utils.translation import gettext as _

from benchmarks.engines import script_gate
from benchmarks.errors import Refused
from benchmarks.library.scripts import placeholders
from benchmarks.models import Run
from benchmarks.models.options import RunOptions
from benchmarks.targets import resolve
from pools.clusters import connect, literals

FIRST_LINE = "-- The generator draws values for $1 and up from the statistics of the columns when a run starts."
NOT_SHOWN = "(not shown)"
SHORT = 4  # characters of a value that may stand by chance in a line
BEGINS_WITH = 12  # characters by which a line of a script is recognized: pgbench prints the first 127 of a statement

# Scripts of earlier releases have their values encrypted in the first line, which are drawn anew as well.
_MARKED = re.compile(rf"(?:{re.escape(FIRST_LINE)}|-- sampled values, encrypted: [\w=-]+)\n(?P<query>.*)", re.DOTALL)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_EXCERPT = re.compile(r"\b(LINE [0-9]+: ).*")

Drawn = Mapping[str, str]  # the text of each marked script → the text that is executed


def marked(query: str) -> str:
    """Return the query, which has `$1` and up, as a script that gets values when it runs."""
    return f"{FIRST_LINE}\n{query};\n"


def drawn(run: Run) -> Drawn:
    """Draw values for the marked scripts of a run, once for all of its programs.

    Raises `Refused`, without any value in its text, and `ClusterUnreachable` (of the pools app).
    """
    texts = [one["text"] for one in run.options.get("scripts") or []]
    queries = {text: found["query"] for text in texts if (found := _MARKED.fullmatch(text.replace("\r\n", "\n")))}
    if not queries:
        return {}
    if run.cluster is None:
        raise Refused(
            _("values are drawn from the statistics of a registered cluster: put values in place of $1 in the scripts")
        )
    login = resolve.of_run(run).login
    with connect.connect(run.cluster, database=run.database, user=login) as connection:
        return {text: _filled(connection, query) for text, query in queries.items()}


def _filled(connection: connect.Connection, query: str) -> str:
    statement = query.strip().removesuffix(";")
    try:
        text = placeholders.filled(connection, statement).text
        script_gate.check(text)
    except psycopg.Error as error:
        reason = str(error).splitlines()[0]
    except script_gate.ScriptRefused:
        reason = _("pgbench would misread a value of its columns")
    else:
        return text
    raise Refused(
        _("no values can be drawn for %(query)s: %(reason)s; ask for the recorded mix again")
        % {"query": literals.without(statement), "reason": reason}
    )


def with_values(options: RunOptions, values: Drawn) -> RunOptions:
    """Return the options with the drawn texts in place of marked scripts."""
    if not values or not (scripts := options.get("scripts")):
        return options
    return {**options, "scripts": [{**one, "text": values.get(one["text"], one["text"])} for one in scripts]}


def mask(values: Drawn) -> Callable[[str], str]:
    """Return a function that hides drawn values in lines of output."""
    if not values:
        return str
    texts = values.values()
    lines = {line.strip()[:BEGINS_WITH] for text in texts for line in text.splitlines()}
    starts = _any_of(line for line in lines if len(line) == BEGINS_WITH)
    shown = _any_of(_as_printed(text[1].replace("''", "'")) for one in texts for text in _TEXT.finditer(one))
    return partial(_masked, starts, shown)


def _masked(starts: re.Pattern[str], values: re.Pattern[str], line: str) -> str:
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
