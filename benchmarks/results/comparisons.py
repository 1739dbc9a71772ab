"""Loads the runs of a comparison and hands them to `benchmarks.analysis.arms`."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Substr
from django.utils.translation import gettext as _

from benchmarks.analysis import arms, batch_means, chart_series, connection_refusals, sparklines
from benchmarks.analysis.arms import Comparison, Outcome
from benchmarks.analysis.subjects import Subject
from benchmarks.models import Purpose, Run, RunOutput, Status, Validity
from benchmarks.models.conditions import ObservedSummary
from core.accounts.access import Access

AT_MOST = 60  # runs per comparison
# samples of each run from which the error of its mean is estimated; longer runs are averaged to this number
POINTS = 400
EXAMINED_AT_MOST = 100_000  # characters of a failed load's output


def chosen(ids: Sequence[UUID], access: Access) -> list[Run]:
    """Return those of the runs that the caller may see, in the given order without duplicates, at most `AT_MOST`."""
    unique = list(dict.fromkeys(ids))[:AT_MOST]
    found = access.visible(Run.objects.select_related("cluster", "pool")).in_bulk(unique)
    return [found[key] for key in unique if key in found]


def of_group(group: UUID, access: Access) -> list[Run]:
    """Return the loads of a group that the caller may see by number, at most `AT_MOST`."""
    found = access.visible(Run.objects.top_level()).filter(group=group).exclude(purpose=Purpose.PREPARE)
    return list(found.select_related("cluster", "pool").order_by("number")[:AT_MOST])


def compare(runs: Sequence[Run], *, baseline: str = "", metric: str = "tps") -> Comparison:
    """Compare runs of the database; see `benchmarks.analysis.arms.compare`."""
    return arms.compare(subjects(runs), baseline=baseline, metric=metric, tie_band=settings.TIE_BAND_PERCENT / 100)


def subjects(runs: Sequence[Run]) -> list[Subject]:
    """Return the runs as a comparison sees them, each with its outcome."""
    printed = _printed(run for run in runs if run.is_final and run.validity != Validity.VALID)
    points = sparklines.of_runs(runs, POINTS)
    return [_subject(run, printed.get(run.pk, ""), points.get(run.pk, [])) for run in runs]


def _printed(runs: Iterable[Run]) -> dict[Any, str]:
    rows = RunOutput.objects.filter(run__in=[run.pk for run in runs])
    return dict(rows.annotate(beginning=Substr("stderr", 1, EXAMINED_AT_MOST)).values_list("run_id", "beginning"))


def _contention(observed: ObservedSummary) -> float | None:
    """Return the percentage of the generator's host that others and the hypervisor took; None where not observed."""
    if "others_percent" not in observed and "steal_percent" not in observed:
        return None
    return observed.get("others_percent", 0.0) + observed.get("steal_percent", 0.0)


def _subject(run: Run, printed: str, points: Sequence[float]) -> Subject:
    settings, observed = run.evidence.get("server", {}).get("settings", {}), run.conditions.get("meanwhile", {})
    messages = "\n".join([printed, run.error, *run.reasons])  # reasons have the errors that a service answered with
    refusal = connection_refusals.find(messages, run.options, settings) if _may_be_refused(run) else None
    return Subject(
        id=str(run.pk),
        number=run.number,
        endpoint_kind=run.endpoint_kind,
        called=_("pooled by %(pooler)s") % {"pooler": run.pooled_by} if run.pooled_by else "",
        target=run.target_label,
        engine=run.engine,
        options=run.options,
        summary=run.summary or chart_series.partial_summary(run),
        outcome=Outcome.REFUSED if refusal else _outcome(run),
        reasons=tuple(dict.fromkeys([*run.reasons, *([run.error] if run.error else [])])),
        refusal=refusal,
        server_version=run.server_version,
        group=str(run.group or ""),
        # The samples of stages are those of different loads: they have no interval in common.
        within_percent=None if run.options.get("stages") else batch_means.half_width_percent(points),
        contention=_contention(observed),
        is_only_contended=run.validity == Validity.SUSPECT and observed.get("only_contended") is True,
    )


def _may_be_refused(run: Run) -> bool:
    return run.is_final and run.validity != Validity.VALID and run.status != Status.CANCELLED


def _outcome(run: Run) -> Outcome:
    if not run.is_final:
        return Outcome.NOT_ENDED
    if run.validity == Validity.VALID:
        return Outcome.SUCCEEDED
    if run.status == Status.CANCELLED:
        return Outcome.CANCELLED
    return Outcome.SUSPECT if run.validity == Validity.SUSPECT else Outcome.FAILED
