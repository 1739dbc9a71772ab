"""Reads the output of the panel's own load programs (`load_programs.counters`): intervals, errors, summary; pure."""

import json
import math
import re
from typing import cast

from benchmarks.engines.base import Output, ParsedLine, ProgramTerms, Progress
from benchmarks.engines.log_files import LogFiles, LoggedTransaction
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import Summary
from benchmarks.processes.process import LineReader

LOG = "requests.log"
_FILLED = re.compile(r"filled (?P<done>[0-9]{1,12}) of (?P<all>[0-9]{1,12}) rows")
_ERROR = "error: "
_LOGGED = re.compile(rb"([0-9]{1,18}) ([0-9]{1,15})")


def parse_line(text: str, options: RunOptions) -> ParsedLine:
    """Parse the sample or the percentage in one line, and whether it is a message for people; never raise."""
    if sample := _interval(text):
        late_s = _number(_figures(text, "interval").get("late_s")) or 0.0
        return ParsedLine(sample=sample, late_s=max(0.0, late_s), worth_reporting=False)
    if (filled := _FILLED.fullmatch(text)) and int(filled["all"]):
        return ParsedLine(percent=min(100.0, 100 * int(filled["done"]) / int(filled["all"])), worth_reporting=False)
    return ParsedLine(worth_reporting=not text.startswith("{"))


def read_output(words: ProgramTerms, stdout: str, stderr: str = "") -> Output:
    """Parse the output of one execution; never raise."""
    texts = [*_lines_of(stdout), *_lines_of(stderr)]
    summaries = [figures for text in texts if (figures := _figures(text, "summary"))]
    filled = [int(found["done"]) for text in texts if (found := _FILLED.fullmatch(text))]
    progress = [sample for text in texts if (sample := _interval(text))]
    errors = [text.strip() for text in texts if text.startswith(_ERROR)]
    return Output(
        words,
        summary=cast("Summary", summaries[-1]) if summaries else {},
        progress=progress,
        errors=errors,
        prepared=not errors,
        prepared_rows=filled[-1] if filled else None,
        recognized=len(progress) + len(summaries),
        executions=len(summaries),
    )


class LogReader:
    """Reads the log of requests as it grows."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[LoggedTransaction]:
        """Return the requests whose lines this chunk completes; malformed lines are left out."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        matches = (_LOGGED.fullmatch(line) for line in lines)
        return [LoggedTransaction(int(found[1]), int(found[2])) for found in matches if found]


def log_files(options: RunOptions) -> LogFiles | None:
    """Return the log, which holds every request; None during a warm-up, whose figures are thrown away."""
    return None if options.get("percentiles") is False else LogFiles(LOG, LogReader)


def _lines_of(text: str) -> list[str]:
    reader = LineReader()
    return [*reader.feed(text.encode("utf-8", "replace")), *reader.close()]


def _interval(text: str) -> Progress | None:
    figures = _figures(text, "interval")
    t = figures.get("t")
    if not isinstance(t, int | float):
        return None
    failed = figures.get("failed")
    return Progress(
        t=float(t),
        tps=_number(figures.get("tps")),
        latency_ms=_number(figures.get("latency_avg_ms")),
        stddev_ms=_number(figures.get("latency_stddev_ms")),
        failed=failed if isinstance(failed, int) else None,
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _figures(text: str, name: str) -> dict[str, object]:
    """Return the object under this name in a line of JSON; empty for every other line."""
    if not text.startswith(f'{{"{name}": '):
        return {}
    try:
        found = json.loads(text, parse_constant=lambda constant: None).get(name)
    except (ValueError, AttributeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
