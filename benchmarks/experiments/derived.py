"""Columns that a playbook derives from the figures of an arm; pure."""

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.analysis.arms import Arm, Figure


def columns(names: Sequence[str], arm: Arm, figure: Figure | None) -> dict[str, float | None]:
    """Return the derived columns asked for; None where an arm has nothing to derive one from."""
    return {name: COLUMNS[name](arm, figure) for name in names if name in COLUMNS}


def _gain_percent(arm: Arm, figure: Figure | None) -> float | None:
    """Derive (with - without) / without, in percent, as published comparisons do."""
    return (figure.ratio - 1) * 100 if figure and figure.ratio else None


def _ratio(arm: Arm, figure: Figure | None) -> float | None:
    return figure.ratio if figure else None


def _effective_clients(arm: Arm, figure: Figure | None) -> float | None:
    """Derive the clients at work by Little's law: throughput times latency."""
    found = [run.summary["effective_clients"] for run in arm.valid if run.summary.get("effective_clients") is not None]
    return median(found) if found else None


def _refused_clients(arm: Arm, figure: Figure | None) -> float | None:
    found = [run.refusal.refused for run in arm.runs if run.refusal and run.refusal.refused is not None]
    return float(max(found)) if found else 0.0


def _end_ms(arm: Arm, figure: Figure | None) -> float | None:
    """Derive the median latency of the statement END, which is the commit."""
    return None


COLUMNS: dict[str, Callable[[Arm, Figure | None], float | None]] = {
    "gain_percent": _gain_percent,
    "ratio": _ratio,
    "effective_clients": _effective_clients,
    "refused_clients": _refused_clients,
}
