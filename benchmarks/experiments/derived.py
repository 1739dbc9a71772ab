"""Columns that a playbook derives from the figures of an arm; pure."""

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.analysis.arms import Arm, Figure
from benchmarks.models import Run


def columns(names: Sequence[str], arm: Arm, figure: Figure | None, runs: Sequence[Run]) -> dict[str, float | None]:
    """Return the derived columns asked for; None where an arm has nothing to derive one from.

    `runs` are the arm's, for what a comparison does not keep of them.
    """
    values = {name: COLUMNS[name](arm, figure) for name in names if name in COLUMNS}
    return values | {name: OF_RUNS[name](runs) for name in names if name in OF_RUNS}


def _gain_percent(arm: Arm, figure: Figure | None) -> float | None:
    """Derive (with - without) / without, in percent, as published comparisons do."""
    return (figure.ratio - 1) * 100 if figure and figure.ratio else None


def _ratio(arm: Arm, figure: Figure | None) -> float | None:
    return figure.ratio if figure else None


def _effective_clients(arm: Arm, figure: Figure | None) -> float | None:
    """Derive the clients at work by Little's law: throughput times latency."""
    clients = [
        run.summary["effective_clients"] for run in arm.valid if run.summary.get("effective_clients") is not None
    ]
    return median(clients) if clients else None


def _refused_clients(arm: Arm, figure: Figure | None) -> float | None:
    refused = [run.refusal.refused for run in arm.runs if run.refusal and run.refusal.refused is not None]
    return float(max(refused)) if refused else 0.0


def _end_ms(runs: Sequence[Run]) -> float | None:
    """Derive the median latency of the statement END, which is the commit."""
    tables = [row for run in runs for row in run.statements]
    latencies_ms = [row["latency_ms"] for row in tables if str(row.get("statement", "")).strip(" ;").upper() == "END"]
    return _median(latencies_ms)


def _ping_ms(runs: Sequence[Run]) -> float | None:
    """Derive the median of the round trips between client and server before the loads."""
    return _median([run.conditions.get("ping", {}).get("avg_ms") for run in runs])


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


COLUMNS: dict[str, Callable[[Arm, Figure | None], float | None]] = {
    "gain_percent": _gain_percent,
    "ratio": _ratio,
    "effective_clients": _effective_clients,
    "refused_clients": _refused_clients,
}
OF_RUNS: dict[str, Callable[[Sequence[Run]], float | None]] = {"end_ms": _end_ms, "ping_ms": _ping_ms}
