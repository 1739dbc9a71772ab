"""Parses what sysbench prints: interval lines, the summary with its latency histogram, errors; pure.

The formats are those of sysbench 1.0.20 and of 1.1.0, its master branch (src/sysbench.c, src/sb_histogram.c,
src/lua/internal/sysbench.cmdline.lua).
"""

import re
from itertools import accumulate
from typing import cast

from django.utils.translation import gettext_lazy as _

from benchmarks.engines.base import Output, ParsedLine, ProgramTerms, Progress
from benchmarks.engines.sentences import THREADS
from benchmarks.engines.sysbench.typed_options import SysbenchOptions
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import Summary
from benchmarks.processes.process import LineReader

TERMS = ProgramTerms(
    "sysbench",
    workers=THREADS,
    busier=_("give it a host of its own"),
    stream="stdout",
    silent_end=_("sysbench crashes like this when the server or the pooler closes one of its connections"),
)
_N, _COUNT = r"[0-9]{1,15}\.[0-9]{2}", r"[0-9]{1,15}"
_INTERVAL = re.compile(
    rf"\[ (?P<t>[0-9]{{1,9}})s \] thds: [0-9]{{1,6}} tps: (?P<tps>{_N}) qps: {_N} \(r/w/o: {_N}/{_N}/{_N}\) "
    rf"lat \(ms,(?P<nth>[0-9]{{1,3}})%\): (?P<latency>{_N}) err/s: (?P<errors>{_N}) reconn/s: {_N}"
)
_QUEUE = re.compile(r"\[ [0-9]{1,9}s \] queue length: [0-9]+, concurrency: [0-9]+")
_FILLED = re.compile(rf"filled (?P<done>{_COUNT}) of (?P<all>{_COUNT}) rows")
_BUCKET = re.compile(rf"(?P<value>{_COUNT}\.[0-9]{{3}}) \|\**\s+(?P<count>{_COUNT})")
_VERSION = re.compile(r"sysbench (?P<version>[0-9]+\.[0-9.]+[0-9](?:-[0-9a-z]+)?)(?: \(.*\))?")
_ERROR = re.compile(r"(?:FATAL|ALERT|ERROR): .+|PANIC: .+")
_TABLE = re.compile(r"Creating table '\w+'\.\.\.|Inserting [0-9]+ records into '\w+'|Creating a secondary index on .*")
_RULES = {
    rule: re.compile(pattern)
    for rule, pattern in {
        "clients": rf"Number of threads: ({_COUNT})",
        "rate": rf"Target transaction rate: ({_COUNT})/sec",
        "transactions tps": rf"transactions:\s+({_COUNT})\s+\(({_N}) per sec\.\)",
        "queries queries_per_second": rf"queries:\s+({_COUNT})\s+\(({_N}) per sec\.\)",
        "failed": rf"ignored errors:\s+({_COUNT})\s+\({_N} per sec\.\)",
        "reconnects": rf"reconnects:\s+({_COUNT})\s+\({_N} per sec\.\)",
        "reads": rf"read:\s+({_COUNT})",
        "writes": rf"write:\s+({_COUNT})",
        "other_queries": rf"other:\s+({_COUNT})",
        "elapsed_s": rf"(?:total time|time elapsed):\s+({_COUNT}\.[0-9]{{4}})s",
        "latency_min_ms": rf"min:\s+({_N})",
        "latency_avg_ms": rf"avg:\s+({_N})",
        "latency_max_ms": rf"max:\s+({_N})",
        "latency_p50_ms": rf"50th percentile:\s+({_N})",
        "latency_p95_ms": rf"95th percentile:\s+({_N})",
        "latency_p99_ms": rf"99th percentile:\s+({_N})",
        "latency_sum_ms": rf"sum:\s+({_N})",
        "events_each events_each_stddev": rf"events \(avg/stddev\):\s+({_COUNT}\.[0-9]{{4}})/({_N})",
        "working_each_s working_each_stddev_s": rf"execution time \(avg/stddev\):\s+({_COUNT}\.[0-9]{{4}})/({_N})",
    }.items()
}


def parse_line(text: str, options: SysbenchOptions) -> ParsedLine:
    """Parse the sample or the percentage in one line, and whether it is a message for people; never raise."""
    if sample := _interval(text):
        return ParsedLine(sample=sample, worth_reporting=False)
    if (filled := _FILLED.fullmatch(text)) and int(filled["all"]):
        return ParsedLine(percent=min(100.0, 100 * int(filled["done"]) / int(filled["all"])), worth_reporting=False)
    return ParsedLine(worth_reporting=bool(_ERROR.match(text) or _TABLE.fullmatch(text)))


def read_output(stdout: str, stderr: str = "") -> Output:
    """Read what sysbench printed, on separate streams or merged into one; never raises."""
    texts = [*_lines_of(stdout), *_lines_of(stderr)]
    progress = [sample for text in texts if (sample := _interval(text))]
    figures, recognized = _figures(texts)
    buckets = _buckets(texts) if "transactions" in figures else []
    if "transactions" in figures:
        figures |= _percentiles(buckets) | _busy(figures)
    versions = [found["version"] for text in texts if (found := _VERSION.fullmatch(text.strip()))]
    filled = [int(found["done"]) for text in texts if (found := _FILLED.fullmatch(text))]
    errors = [text.strip() for text in texts if _ERROR.match(text)]
    tables = [text for text in texts if _TABLE.fullmatch(text)]
    return Output(
        TERMS,
        summary=cast("Summary", figures),
        progress=progress,
        client_version=versions[0] if versions else "",
        errors=errors,
        prepared=bool(versions) and not errors,
        prepared_rows=filled[-1] if filled else None,
        recognized=recognized + len(progress) + len(versions) + len(tables),
        executions=sum(text.startswith("SQL statistics:") for text in texts),
        latencies=buckets,
    )


def options_from_summary(summary: Summary) -> RunOptions:
    """Return the options that a summary shows, under their names."""
    options: RunOptions = {}
    if "threads" in summary:
        options["threads"] = summary["threads"]
    if "rate" in summary:
        options["rate"] = summary["rate"]
    return options


def _lines_of(text: str) -> list[str]:
    reader = LineReader()
    return [*reader.feed(text.encode("utf-8", "replace")), *reader.close()]


def _interval(text: str) -> Progress | None:
    found = _INTERVAL.fullmatch(text.strip())
    if not found:
        return None
    nth, latency_ms = found["nth"], float(found["latency"])
    return Progress(
        t=float(found["t"]),
        tps=float(found["tps"]),
        latency_ms=None,  # sysbench prints no average before the end
        stddev_ms=None,
        failed=round(float(found["errors"])),
        latency_p50_ms=latency_ms if nth == "50" else None,
        latency_p95_ms=latency_ms if nth == "95" else None,
        latency_p99_ms=latency_ms if nth == "99" else None,
    )


def _figures(texts: list[str]) -> tuple[dict[str, float], int]:
    """Return the summary's figures by the rules above, and the number of lines they were found in."""
    figures: dict[str, float] = {}
    lines = 0
    for text in texts:
        for names, rule in _RULES.items():
            if found := rule.fullmatch(text.strip()):
                figures |= zip(names.split(), map(_number, found.groups()), strict=True)
                lines += 1
                break
    if "transactions" not in figures:
        figures = {}
    elif "clients" in figures:
        figures["threads"] = figures["clients"]
    return figures, lines


def _number(printed: str) -> float | int:
    return float(printed) if "." in printed else int(printed)


def _buckets(texts: list[str]) -> list[tuple[float, int]]:
    """Return the histogram as (latency in ms, count), each within 1.8 % (1,024 steps to 100 s)."""
    matches = (_BUCKET.fullmatch(text.strip()) for text in texts)
    return [(float(found["value"]), int(found["count"])) for found in matches if found]


def _percentiles(buckets: list[tuple[float, int]]) -> dict[str, float]:
    """Return p50, p95 and p99 as sysbench would print them: the bucket of the histogram in which each lies."""
    reached = list(accumulate(count for _, count in buckets))
    if not buckets or not reached[-1]:
        return {}
    return {
        f"latency_p{nth}_ms": next(value for (value, _), sum_ in zip(buckets, reached, strict=True) if sum_ >= rank)
        for nth in (50, 95, 99)
        for rank in (reached[-1] * nth / 100,)
    }


def _busy(figures: dict[str, float]) -> dict[str, float]:
    """Return the mean number of busy threads: their time in transactions over the elapsed time."""
    if not figures.get("elapsed_s") or "latency_sum_ms" not in figures:
        return {}
    return {"effective_clients": round(figures["latency_sum_ms"] / 1000 / figures["elapsed_s"], 3)}
