"""Rules for the lines of pgbench's summary: text in, named figures out."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from benchmarks.engines.pgbench.lines import figure
from benchmarks.models.summaries import Statement

_NUMBER = r"(?:-?(?:nan|inf)|-?[0-9]{1,15}(?:\.[0-9]{1,9})?)"
_COUNT = r"[0-9]{1,18}"
_TEXTS = frozenset({"transaction_type", "query_mode", "partition_method"})

Figures = dict[str, float | int | str | None]


def _rule(pattern: str) -> re.Pattern[str]:
    """Compile a line's pattern: {key} is a figure, {#key} a count, {*key} a text; the keys name the figures."""
    pattern = re.sub(r"\{#(\w+)\}", rf"(?P<\1>{_COUNT})", pattern)
    pattern = re.sub(r"\{\*(\w+)\}", r"(?P<\1>.+)", pattern)
    return re.compile(re.sub(r"\{(\w+)\}", rf"(?P<\1>{_NUMBER})", pattern), re.IGNORECASE)


_RULES = tuple(
    map(
        _rule,
        (
            r"transaction type: {*transaction_type}",
            r"scaling factor: {#scale}",
            r"partition method: {*partition_method}",
            r"partitions: {#partitions}",
            r"query mode: {*query_mode}",
            r"number of clients: {#clients}",
            r"number of threads: {#threads}",
            r"maximum number of tries: {#max_tries}",
            r"number of transactions per client: {#transactions_per_client}",
            r"duration: {#duration_s} s",
            r"number of transactions actually processed: {#transactions}(?:/{#transactions_expected})?",
            r"number of transactions actually processed: {#transactions} \(tps = {tps}\)",
            r"number of failed transactions: {#failed} \({failed_percent} ?%\)",
            r"number of serialization failures: {#serialization_failures} \({serialization_failures_percent} ?%\)",
            r"number of deadlock failures: {#deadlock_failures} \({deadlock_failures_percent} ?%\)",
            r"number of other failures: {#other_failures} \({other_failures_percent} ?%\)",
            r"number of transactions retried: {#retried} \({retried_percent} ?%\)",
            r"total number of retries: {#retries}",
            r"number of transactions skipped: {#skipped} \({skipped_percent} ?%\)",
            r"number of transactions above the {latency_limit_ms} ms latency limit: "
            r"{#above_latency_limit}(?:/{#above_latency_limit_of})? \({above_latency_limit_percent} ?%\)",
            r"latency average(?: =|:) {latency_avg_ms} ms(?: \(including failures\))?",
            r"latency stddev(?: =|:) {latency_stddev_ms} ms",
            r"latency percentile 50(?:\.0+)? = {latency_p50_ms} ms",  # Neon's pgbench prints percentiles
            r"latency percentile 95(?:\.0+)? = {latency_p95_ms} ms",
            r"latency percentile 99(?:\.0+)? = {latency_p99_ms} ms",
            r"rate limit schedule lag: avg {lag_avg_ms} \(max {lag_max_ms}\) ms",
            r"initial connection time = {initial_connection_ms} ms",
            r"average connection time = {average_connection_ms} ms",
        ),
    )
)
_SCRIPT_RULES = (
    _rule(r"weight(?::| =) {#weight}(?: \(targets {target_percent} ?% of total\))?"),
    _rule(r"{#transactions} transactions \({percent} ?% of total(?:, tps = {tps})?\)"),
    *_RULES,
)
_RATE = re.compile(rf"tps = (?P<tps>{_NUMBER}) \((?P<kind>[a-z ]{{1,60}})\)", re.IGNORECASE)
_SCRIPT_HEADING = re.compile(r"SQL script [0-9]{1,4}: (?P<name>.+)")
_STATEMENTS_HEADING = re.compile(
    r"(?:- )?statement latencies in milliseconds(?P<failures>(?: and|,) failures)?(?P<retries> and retries)?:"
)
_VERSION = re.compile(r"pgbench \((?P<client>.{1,200}?)(?:, server (?P<server>.{1,200}))?\)")


@dataclass(slots=True)
class Summary:
    """The figures that pgbench prints on stdout: of the whole run, of each script, of each statement."""

    figures: Figures = field(default_factory=dict)
    rates: list[tuple[float | None, str]] = field(default_factory=list)
    scripts: list[Figures] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    client_version: str = ""
    server_version: str = ""
    executions: int = 0  # `transaction type:` lines; more than one: the text holds several executions
    recognized: int = 0


def read_summary(texts: Iterable[str]) -> Summary:
    """Read the lines of a summary among others; headings tell what ` - ` lines and statement rows belong to."""
    summary = Summary()
    row: re.Pattern[str] | None = None
    for text in texts:
        if row and (found := row.fullmatch(text)):
            summary.statements.append(_statement(found, script=max(len(summary.scripts), 1)))
        elif heading := _STATEMENTS_HEADING.fullmatch(text.strip()):
            row = _row_pattern(bool(heading["failures"]), bool(heading["retries"]))
        elif not _read_line(text.strip(), summary):
            continue
        summary.recognized += 1
    summary.figures |= _headline_rates(summary.rates)
    return summary


def _read_line(text: str, summary: Summary) -> bool:
    if version := _VERSION.fullmatch(text):
        summary.client_version, summary.server_version = version["client"], version["server"] or ""
    elif script := _SCRIPT_HEADING.fullmatch(text):
        summary.scripts.append({"name": script["name"]})
    elif rate := _RATE.fullmatch(text):
        summary.rates.append((figure(rate["tps"]), rate["kind"]))
    else:
        return _read_figures(text, summary)
    return True


def _read_figures(text: str, summary: Summary) -> bool:
    figures = _figures_of(text.removeprefix("- "), _SCRIPT_RULES if text.startswith("- ") else _RULES)
    belongs_to = summary.scripts[-1] if text.startswith("- ") and summary.scripts else summary.figures
    belongs_to.update(figures)
    summary.executions += "transaction_type" in figures
    return bool(figures)


def _row_pattern(failures: bool, retries: bool) -> re.Pattern[str]:
    """Compile the pattern of a statement's row: latency, counts that the heading names, first line of the command."""
    counts = r"(?P<failures>[0-9]{1,18})\s+" * failures + r"(?P<retries>[0-9]{1,18})\s+" * retries
    return re.compile(rf"\s*(?P<latency_ms>{_NUMBER})\s+{counts}(?P<statement>\S.*)", re.IGNORECASE)


def _statement(found: re.Match[str], script: int) -> Statement:
    printed = found.groupdict()
    return {
        "script": script,
        "latency_ms": figure(printed["latency_ms"]),
        "failures": int(printed["failures"]) if printed.get("failures") else None,
        "retries": int(printed["retries"]) if printed.get("retries") else None,
        "statement": printed["statement"].rstrip(),
    }


def _figures_of(text: str, rules: tuple[re.Pattern[str], ...]) -> Figures:
    for rule in rules:
        if found := rule.fullmatch(text):
            return {key: _value(key, printed) for key, printed in found.groupdict().items() if printed is not None}
    return {}


def _value(key: str, printed: str) -> float | int | str | None:
    if key in _TEXTS:
        return printed
    is_count = printed.isdigit() and not key.endswith(("_ms", "percent", "tps"))
    return int(printed) if is_count else figure(printed)


def _headline_rates(rates: list[tuple[float | None, str]]) -> Figures:
    """Return the API's two rates from the `tps =` lines, given as (figure, text in brackets).

    `tps` leaves the first connecting out; under -C (14 and later) the only rate printed includes reconnecting.
    """
    figures: Figures = {}
    for tps, kind in rates:
        if kind.startswith("including"):
            figures["tps_including_connections"] = tps
            figures.setdefault("tps", tps)
        else:
            figures["tps"] = tps
    return figures


def effective_clients(figures: Figures) -> float | None:
    """Return the mean number of busy clients by Little's law: the rate times the time in the system.

    Under -R the wait for the scheduled start is no work; under -C connecting is. None where pgbench printed no
    deviation: then its average is only time * clients / transactions, and the law would confirm itself.
    """
    tps, latency_ms = figures.get("tps"), figures.get("latency_avg_ms")
    if not isinstance(tps, float) or not isinstance(latency_ms, float) or "latency_stddev_ms" not in figures:
        return None
    lag_ms, connecting_ms = figures.get("lag_avg_ms") or 0.0, figures.get("average_connection_ms") or 0.0
    busy_ms = latency_ms - float(lag_ms) + float(connecting_ms)
    return round(tps * busy_ms / 1000, 3)
