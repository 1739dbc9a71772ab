"""Events and metrics, from what the panel watches and exports."""

import ast
from collections.abc import Iterator

from panel.metrics import REFUSED_TEXT, STALLED_TEXT, WAITING_POOLER_TEXT, WAITING_TEXT
from pools.monitoring import prometheus
from pools.monitoring.thresholds import WATCHES, Watch
from reference.places import ROOT
from reference.tables import code, plain, table


def events() -> str:
    """Return a table of the kinds of events with their default thresholds."""
    head = ("Kind", "Event", "Severity", "Watched", "Opens at", "Closes below", "After")
    return table(head, (_row(watch) for watch in WATCHES.values()))


def _row(watch: Watch) -> tuple[str, ...]:
    rule, unit = watch.rule, f" {watch.unit}" if watch.unit else ""
    opens, closes = (f"{rule.opens_at:g}{unit}", f"{rule.closes_at:g}{unit}")
    if rule.falls:
        opens, closes = f"{opens} or less", f"(above {closes})"
    bounds = (opens, closes) if watch.counts else ("while it holds", "")
    words = (str(watch.kind.label), str(watch.severity.label), str(watch.measures))
    return (code(watch.kind.value), *(plain(word) for word in words), *bounds, f"{rule.for_s:g} s")


def metrics() -> str:
    """Return a table of the metrics of /metrics."""
    rows = [
        ("`pgbouncer_up`", "`pooler`", "1 when the console answered"),
        ("`pgbouncer_version_info`", "`pooler` `version`", "The program’s release"),
        ("`pooldeck_console_age_seconds`", "`pooler`", "How old the console’s last answer is"),
        *_columns("pgbouncer_pools", prometheus.POOLS, prometheus.POOL_LABELS),
        *_columns("pgbouncer_stats", prometheus.STATS, ("database",), "_total"),
        *_columns("pgbouncer_databases", prometheus.DATABASES, prometheus.DATABASE_LABELS),
        ("`pooldeck_pool_health`", "`pooler` `pool` `health`", plain(WAITING_TEXT)),
        ("`pooldeck_pooler_health`", "`pooler` `health`", plain(WAITING_POOLER_TEXT)),
        ("`pooldeck_pooler_refused_logins`", "`pooler`", plain(REFUSED_TEXT)),
        ("`pooldeck_worker_stalled_seconds`", "`worker`", plain(STALLED_TEXT)),
        *_own(),
    ]
    return table(("Metric", "Labels", "Meaning"), rows)


def _columns(
    prefix: str, columns: tuple[prometheus.Column, ...], labels: tuple[str, ...], suffix: str = ""
) -> Iterator[tuple[str, str, str]]:
    for column in columns:
        written = " ".join(code(label) for label in ("pooler", *labels))
        yield code(f"{prefix}_{column.metric}{suffix}"), written, plain(column.help)


def _own() -> Iterator[tuple[str, str, str]]:
    """Yield the panel's own metrics, as their calls in panel/metrics.py name them."""
    for node in ast.walk(ast.parse((ROOT / "panel/metrics.py").read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_counted":
            name, text, label = (ast.literal_eval(argument) for argument in node.args[:3])
            yield code(name), code(label), plain(text)
