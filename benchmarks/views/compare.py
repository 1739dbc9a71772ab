"""The comparison of runs: repeats as arms, charts on one time axis, and the conclusions."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from benchmarks.analysis import arms, chart_series, statements, sweeps
from benchmarks.analysis.arms import Arm, Comparison
from benchmarks.analysis.latency import report
from benchmarks.models import Purpose, Run, Validity
from benchmarks.results import comparisons
from core.accounts.access import Access, needs
from core.lib.query_params import id_of

COLORS = 8  # further arms reuse them


@require_safe
@needs("run.view")
def run_compare(request: HttpRequest) -> HttpResponse:
    """Compare the runs named by `run`, or those of a `group`.

    The baseline is the arm of the first run; with `oldest=first` that of the oldest; with `baseline` the arm so keyed.
    """
    access = Access.of(request)
    runs = asked_runs(request)
    if len(runs) < 2:
        recent = (
            access.visible(Run.objects.top_level())
            .filter(purpose__in=[Purpose.LOAD, Purpose.IMPORT])
            .exclude(validity="")
        )
        choose: dict[str, object] = {"recent": recent.select_related("cluster", "pool")[:20], "chosen": runs}
        return render(request, "benchmarks/run_compare_choose.html", choose)
    return render(request, "benchmarks/run_compare.html", _shown(request, runs))


def asked_runs(request: HttpRequest) -> list[Run]:
    """Return the runs that the address names and the caller sees, in the order in which they are compared."""
    group, access = id_of(request.GET.get("group", "")), Access.of(request)
    named = [key for text in request.GET.getlist("run") if (key := id_of(text))]
    runs = comparisons.of_group(group, access) if group else comparisons.chosen(named, access)
    if request.GET.get("oldest") == "first":
        runs.sort(key=lambda run: run.number)
    return runs


def _shown(request: HttpRequest, runs: list[Run]) -> dict[str, object]:
    found = _compared(runs, request.GET.get("baseline", ""))
    by_id = {str(run.pk): run for run in runs}
    query = request.GET.copy()
    query.pop("baseline", None)
    return {
        "runs": runs,
        "numbers": ", ".join(str(run.number) for run in runs),
        "going_on": [run for run in runs if not run.is_final],
        "compared": found,
        "sweep": sweeps.of(found),
        "arms": [_arm_shown(found, at, by_id) for at in range(len(found.arms))],
        "asked": query.urlencode(),
        "may_share": all(Access.of(request).may("link.manage", run) for run in runs),
        "download": ",".join(by_id),
        "statements": statements.compare([run.statements for run in runs]),
        "repeated": report.repeated(runs),
        "courses": [
            _course(by_id[run.id], at, arm) for at, arm in enumerate(found.arms) for run in arm.runs if run.id in by_id
        ],
    }


def _compared(runs: list[Run], baseline: str) -> Comparison:
    """Compare the runs; ignore a baseline that is not among them, since it comes from a URL."""
    try:
        return comparisons.compare(runs, baseline=baseline)
    except KeyError:
        return comparisons.compare(runs)


def _arm_shown(found: Comparison, at: int, by_id: dict[str, Run]) -> dict[str, object]:
    arm, figure = found.arms[at], found.figures[at]
    return {
        "arm": arm,
        "color": at % COLORS + 1,
        "figure": figure,
        "verdict": arms.verdict_of(found, arm, figure),
        "at_work": arm.at_work,
        "runs": [(by_id[run.id], run) for run in arm.runs],
    }


def _course(run: Run, at: int, arm: Arm) -> dict[str, object]:
    """Return a run's line for the charts: the color of its arm, its samples, and its means for the legend."""
    valid = run.validity == Validity.VALID or not run.is_final
    means = {"tps": run.summary.get("tps"), "latency_ms": run.summary.get("latency_avg_ms")}
    label = _("%(arm)s, run %(number)s") % {"arm": arm.label, "number": run.number}
    return {"label": label, "valid": valid, "color": at % COLORS + 1, "means": means, **chart_series.progress(run)}
