"""What was done and measured around a load, in words for people; pure."""

from collections.abc import Callable, Iterator
from typing import Any

from pools.clusters.memory_budget import GB, MB

LabelledText = tuple[str, str]  # label and sentence


def in_words(noted: dict[str, Any]) -> list[LabelledText]:
    """Each condition that a run noted, in the order in which it came about; unknown ones are left out."""
    return [(label, report(noted[name])) for name, label, report in _TELLERS if name in noted]


def _ping(found: dict[str, Any]) -> str:
    span = f"{found['min_ms']:.3g} to {found['max_ms']:.3g}, {found['count']} times"
    return f"{found['avg_ms']:.3g} ms on average ({span}), logging in {found['connect_ms']:.3g} ms"


def _profile(found: dict[str, Any]) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in found["values"].items())
    return "; ".join([f"{found['name']}: {values}", *found.get("warnings", []), *found.get("left", [])])


def _idle(found: dict[str, Any]) -> str:
    return "; ".join(_idle_parts(found))


def _idle_parts(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['connections']:,} opened in {found['opened_in_s']:,.1f} s"
    if found["memory"] == "measured":
        each, whole = found["memory_bytes_each"] / MB, found["memory_bytes"]
        yield f"{each:,.1f} MB each, {_size(whole)} in all, measured"
    elif found["memory"] == "estimated":
        yield f"about {_size(found['memory_low_bytes'])} to {_size(found['memory_high_bytes'])} in all, estimated"
    elif found["memory"] == "pooled":
        yield "they share the pool's server connections, so they take no memory of the server by themselves"
    if found.get("closed_by_others"):
        yield f"{found['closed_by_others']:,} were closed by the other side before the end"


def _vacuum(found: dict[str, Any]) -> str:
    return f"{len(found['tables'])} tables in {found['seconds']:,.1f} s"


def _seconds(found: dict[str, Any]) -> str:
    return f"{found['seconds']:,.1f} s"


def _size(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size >= GB else f"{size / MB:,.0f} MB"


_TELLERS: tuple[tuple[str, str, Callable[[dict[str, Any]], str]], ...] = (
    ("ping", "Round trip to the endpoint", _ping),
    ("settings_profile", "Settings profile", _profile),
    ("idle", "Idle connections", _idle),
    ("vacuum", "Vacuumed before", _vacuum),
    ("checkpoint", "Checkpoint before", _seconds),
    ("warm_up", "Warm-up, thrown away", _seconds),
)
