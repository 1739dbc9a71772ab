"""Template filters and tags of the run pages: ratios, workloads, sparklines."""

from decimal import Decimal

from django import template
from django.utils.translation import gettext as _

from benchmarks.analysis import sparklines
from benchmarks.analysis.arms import Figure
from benchmarks.analysis.conclusions import ENDPOINT_KINDS
from benchmarks.engines import engine
from benchmarks.models import Run
from benchmarks.models.options import RunOptions

register = template.Library()


@register.filter
def ratio(value: float | None) -> str:
    """Format a ratio: `×0.0092`, `×0.56`, `×12.7`; a dash for None."""
    if value is None:
        return "–"
    if 0 < value < 0.1:
        return f"×{Decimal(f'{value:.2g}'):f}"
    return f"×{value:.2f}" if value < 10 else f"×{value:.1f}"


@register.filter
def lookup(mapping: dict[object, object], key: object) -> object:
    """Return the value of a key that is only known while rendering; None if it is missing."""
    return mapping.get(key)


@register.filter
def workload(run: Run) -> str:
    """Name what a run executes: the labels of its scripts, else its script or workload, else its engine."""
    labels = ", ".join(engine(run.engine).script_labels(run.options))
    return labels or run.options.get("script") or run.options.get("workload") or run.engine


@register.filter
def percentile(name: str) -> str:
    """Write the key of a percentile as people do: `p99_9` becomes `p99.9`."""
    return name.replace("_", ".")


@register.filter
def exact(found: Figure, unit: str) -> str:
    """Describe an arm's figure in full for a tooltip: its median with `unit`, and what a verdict still lacks."""
    median = _("not printed") if found.median is None else f"{found.median} {unit}".strip()
    if found.missing:
        return _("%(median)s; missing for a verdict: %(missing)s") % {"median": median, "missing": found.missing}
    return median


@register.filter
def endpoint_label(run: Run) -> str:
    """Name the kind of endpoint that a run loaded."""
    return str(ENDPOINT_KINDS.get(run.endpoint_kind, run.endpoint_kind))


@register.filter
def client_count(options: RunOptions) -> int | None:
    """Return the number of clients that a run's options ask for; None if its engine has no such option."""
    return options.get("clients") or options.get("concurrency")


@register.inclusion_tag("benchmarks/includes/sparkline.html")
def sparkline(points: list[float] | None) -> dict[str, object]:
    """Draw a run's throughput over time as a small line; nothing below two points."""
    return {"path": sparklines.path(points or []), "top": max(points or [0.0])}
