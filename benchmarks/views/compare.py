"""Two or more runs side by side: one clock for their charts, ratios to the first, and what may be said of them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmarks.charts import charting
from benchmarks.judging import comparing, statements
from benchmarks.judging.comparing import Subject
from benchmarks.latencies import showing
from benchmarks.models import Purpose, Run, Validity
from benchmarks.views.ids import id_of

AT_MOST = 6  # as many as there are colours to tell lines apart


@require_safe
def run_compare(request: HttpRequest) -> HttpResponse:
    """The runs named by `run`; the first, or with `oldest=first` the oldest, is what the others are measured by."""
    runs = _chosen(request.GET.getlist("run"))
    if request.GET.get("oldest") == "first":
        runs.sort(key=lambda run: run.number)
    if len(runs) < 2:
        recent = Run.objects.wholes().filter(purpose__in=[Purpose.LOAD, Purpose.IMPORT], validity=Validity.VALID)
        choose: dict[str, Any] = {"recent": recent.select_related("cluster", "pool")[:20], "chosen": runs}
        return render(request, "benchmarks/run_compare_choose.html", choose)
    compared = comparing.compare([_subject(run) for run in runs])
    context: dict[str, Any] = {
        "runs": runs,
        "going_on": [run for run in runs if not run.is_final],
        "compared": compared,
        "noise": comparing.NOISE_STATEMENT,
        "statements": statements.compare([run.statements for run in runs], comparable=all(map(_is_valid, runs))),
        "repeated": showing.repeated(runs),
        "courses": [
            {"label": _label(run), "valid": _is_valid(run) or not run.is_final, **charting.progress(run)}
            for run in runs
        ],
    }
    return render(request, "benchmarks/run_compare.html", context)


def _chosen(ids: list[str]) -> list[Run]:
    """The runs there are, in the order asked for, each once."""
    wanted = list(dict.fromkeys(key for text in ids if (key := id_of(text))))[:AT_MOST]
    found = Run.objects.select_related("cluster", "pool").in_bulk(wanted)
    return [found[key] for key in wanted if key in found]


def _subject(run: Run) -> Subject:
    summary = run.summary or charting.partial_summary(run)
    valid = _is_valid(run) if run.is_final else None
    return Subject(_label(run), valid, summary, run.options, run.server_version, run.engine)


def _is_valid(run: Run) -> bool:
    return run.validity == Validity.VALID


def _label(run: Run) -> str:
    return f"run {run.number} ({run.way})"
