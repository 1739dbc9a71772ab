"""Parses pgbench's output: single lines while it runs, and all of it afterwards (summary, scripts, statements)."""

import re
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import cast

from benchmarks.engines import base
from benchmarks.engines.base import ParsedLine, ProgramTerms, Progress
from benchmarks.engines.pgbench import initialize, lines
from benchmarks.engines.pgbench.lines import InitProgress, read_line
from benchmarks.engines.pgbench.summary import effective_clients, read_summary
from benchmarks.engines.pgbench.typed_options import PgbenchOptions
from benchmarks.models.summaries import ScriptSummary, Summary
from benchmarks.processes.process import LineReader

_EPOCH_S = (1e9, 1e11)  # progress times between (2001 to 5138) are Unix times, printed under --progress-timestamp
_RANDOM_SEED = re.compile(r"(?:pgbench: )?setting random seed to (?P<seed>[0-9]{1,20})")

_COLOR = re.compile(r"\x1b\[[0-9;]{0,20}[mK]")  # pgbench 12 and later print this around `error:` on a terminal.
TERMS = ProgramTerms("pgbench")
_INIT_LINES = lines.InitProgress | lines.InitPhase | lines.InitDone


@dataclass(frozen=True, slots=True)
class Output(base.Output):
    """The output of one execution of pgbench.

    Its `summary` also has `transaction_type scale query_mode failed_percent …`. `rates` are the `tps =` lines with the
    text in their brackets. A script has the keys of a summary beside `name weight target_percent percent`; a
    statement's `script` counts from 1. The server's version is not printed before 14, nor where it is pgbench's own.
    """

    terms: ProgramTerms = TERMS
    rates: list[tuple[float | None, str]] = field(default_factory=list)
    init_progress: list[lines.InitProgress] = field(default_factory=list)
    init_done: lines.InitDone | None = None
    mode: str = "load"  # the other mode is "init"

    @property
    def has_epoch_times(self) -> bool:
        """True if the progress lines carry Unix times."""
        return bool(self.progress) and _EPOCH_S[0] < self.progress[0].t < _EPOCH_S[1]

    @property
    def zero_s(self) -> float:
        """The progress time at which the load began: with Unix times, one usual interval before the first line."""
        if not self.has_epoch_times:
            return 0.0
        between = [later.t - earlier.t for earlier, later in pairwise(self.progress)]
        return self.progress[0].t - (median(between) if between else 0.0)

    @property
    def samples(self) -> list[Progress]:
        """The progress with `t` in seconds since the load began."""
        if not self.has_epoch_times:
            return self.progress
        zero = self.zero_s
        return [replace(line, t=round(line.t - zero, 3)) for line in self.progress]

    @property
    def began_s(self) -> float | None:
        """The Unix time at which the load began, under --progress-timestamp."""
        return self.zero_s if self.has_epoch_times else None

    @property
    def server_number(self) -> str:
        """The server's version, `15.18`: 14 and later omit it where it is their own (printVersion in pgbench.c).

        Empty where no version was printed, as before 14: then the server's version is unknown.
        """
        return (self.server_version or self.client_version).partition(" ")[0]

    @property
    def is_preparation(self) -> bool:
        """True if this is `pgbench -i`."""
        return self.mode == "init"


def read_output(stdout: str, stderr: str = "") -> Output:
    """Read what pgbench printed, on separate streams or merged into one; never raises."""
    texts = [*_lines_of(stderr), *_lines_of(stdout)]
    events = [lines.read_line(text) for text in texts]
    found = read_summary(event.text for event in events if isinstance(event, lines.Unknown))
    initializes = any(_is_pgbenchs_own(event) and isinstance(event, _INIT_LINES) for event in events)
    progress = [event for event in events if isinstance(event, Progress)]
    rows = [event for event in events if isinstance(event, lines.InitProgress)]
    done = next((event for event in reversed(events) if isinstance(event, lines.InitDone)), None)
    figures = {**found.figures, **_random_seed(texts)}
    if (busy := effective_clients(figures)) is not None:
        figures["effective_clients"] = busy
    return Output(
        summary=cast("Summary", figures),
        rates=found.rates,
        scripts=[cast("ScriptSummary", script) for script in found.scripts],
        statements=found.statements,
        progress=progress,
        init_progress=rows,
        init_done=done,
        prepared=done is not None,
        prepared_rows=rows[-1].done if rows else None,
        client_version=found.client_version,
        server_version=found.server_version,
        run_aborted=any(isinstance(event, lines.AbortMessage) and not event.clients for event in events),
        aborted_clients=frozenset(number for text in texts for number in lines.aborted_clients(text)),
        errors=[event.text for event in events if isinstance(event, lines.AbortMessage | lines.Failure)],
        mode="init" if initializes and not progress and not found.executions else "load",
        executions=found.executions,
        recognized=found.recognized + sum(_is_pgbenchs_own(event) for event in events),
    )


def _lines_of(text: str) -> list[str]:
    reader = LineReader()
    return [*reader.feed(_COLOR.sub("", text).encode("utf-8", "replace")), *reader.close()]


def _random_seed(texts: list[str]) -> dict[str, int]:
    seeds = (_RANDOM_SEED.fullmatch(text.strip()) for text in texts if "random seed" in text)
    return next(({"random_seed": int(found["seed"])} for found in seeds if found), {})


def _is_pgbenchs_own(event: lines.Line) -> bool:
    match event:
        case lines.Failure(text):
            return "pgbench:" in text
        case lines.InitDone(total_s=None):  # "done." occurs in many texts
            return False
        case lines.Notice(own=own):
            return own
        case _:
            return not isinstance(event, lines.Unknown)


def parse_line(text: str, options: PgbenchOptions) -> ParsedLine:
    """Parse the sample or the percentage in one line of stderr, and whether it is a message for people; never raise."""
    event = read_line(text)
    if isinstance(event, Progress):
        return ParsedLine(sample=event, worth_reporting=False)
    steps = options.get("initialize_steps")
    percent = initialize.percent(event, steps) if steps else None
    return ParsedLine(percent=percent, worth_reporting=not isinstance(event, InitProgress))


_BUILTINS = {
    "<builtin: TPC-B (sort of)>": "tpcb-like",
    "<builtin: simple update>": "simple-update",
    "<builtin: select only>": "select-only",
}


def options_from_summary(summary: Summary) -> PgbenchOptions:
    """Return the options that a summary shows, under their names."""
    options = {
        "builtin": _BUILTINS.get(summary.get("transaction_type", "")),
        "clients": summary.get("clients"),
        "threads": summary.get("threads"),
        "duration": summary.get("duration_s"),
        "transactions": summary.get("transactions_per_client"),
        "protocol": summary.get("query_mode"),
        "latency_limit": summary.get("latency_limit_ms"),
        "max_tries": summary.get("max_tries"),
        "random_seed": summary.get("random_seed"),
    }
    return cast("PgbenchOptions", {name: value for name, value in options.items() if value is not None})
