"""What the pages of runs write beside the panel's own filters: ratios, sparklines."""

from decimal import Decimal
from typing import Any

from django import template

from benchmarks.analysis import sparklines
from benchmarks.engines.pgbench import scripts

register = template.Library()


@register.filter
def ratio(value: float | None) -> str:
    """A ratio as people write it: ×0.0092, ×0.56, ×12.7; a dash where there is none."""
    if value is None:
        return "–"
    if 0 < value < 0.1:
        return f"×{Decimal(f'{value:.2g}'):f}"
    return f"×{value:.2f}" if value < 10 else f"×{value:.1f}"


@register.filter
def lookup(mapping: dict[object, object], key: object) -> object:
    """The value under a key that is only known while rendering; None where it is missing."""
    return mapping.get(key)


@register.filter
def script_names(options: dict[str, Any]) -> str:
    """What the scripts of a run of pgbench are called; empty for other programs."""
    return ", ".join(one.label for one in scripts.weighed(options))


@register.inclusion_tag("benchmarks/includes/sparkline.html")
def sparkline(points: list[float] | None) -> dict[str, object]:
    """The course of a throughput as a small line; a dash below two points."""
    return {"path": sparklines.path(points or []), "top": max(points or [0.0])}
