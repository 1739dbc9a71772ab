"""Outcomes, verdicts and the sentences in which a comparison reports them; pure."""

from collections.abc import Mapping

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.confidence_intervals import Interval


class Outcome(TextChoices):
    """The outcome of a run or an arm."""

    SUCCEEDED = "succeeded", gettext_lazy("succeeded")
    SUSPECT = "suspect", gettext_lazy("suspect")
    REFUSED = "refused", gettext_lazy("refused")
    FAILED = "failed", gettext_lazy("failed")
    CANCELLED = "cancelled", gettext_lazy("cancelled")
    NOT_ENDED = "not ended", gettext_lazy("not ended")


class Verdict(TextChoices):
    """Result of comparing an arm with the baseline."""

    FASTER = "faster", gettext_lazy("faster")
    SLOWER = "slower", gettext_lazy("slower")
    NO_DIFFERENCE = "no difference shown", gettext_lazy("no difference shown")
    REFUSED = "refused", gettext_lazy("refused")
    NOT_ENOUGH = "not enough data", gettext_lazy("not enough data")


ENDPOINT_KINDS = {
    "direct": gettext_lazy("direct"),
    "pooled": gettext_lazy("pooled"),
    "imported": gettext_lazy("imported"),
}


def carried_format(*, only_pool: bool, counted: bool) -> str:
    """Return the format for an arm that ran while the baseline was refused; it takes `arm`, `clients` and `tps`."""
    if only_pool and counted:
        return _("the pool carried %(clients)s clients at %(tps)s tps")
    if only_pool:
        return _("the pool carried its clients at %(tps)s tps")
    if counted:
        return _("%(arm)s carried %(clients)s clients at %(tps)s tps")
    return _("%(arm)s carried its clients at %(tps)s tps")


def judged(
    verdict: Verdict, interval: Interval, names: Mapping[str, object], *, runs: tuple[int, int], pairs: int
) -> str:
    """Return the conclusion of a verdict with what it rests on.

    `names` are `arm`, `baseline` and `metric`; `runs` are the valid ones of baseline and arm, `pairs` those of
    neighboring runs, 0 where the runs are no pairs.
    """
    ends = {name: f"{getattr(interval, name):.2f}" for name in ("ratio", "low", "high")}
    if pairs:
        return _of_pairs(verdict, pairs) % {**names, **ends, "count": pairs}
    return _of_runs(verdict, runs[1]) % {**names, **ends, "base": runs[0], "count": runs[1]}


def _of_pairs(verdict: Verdict, pairs: int) -> str:
    if verdict is Verdict.FASTER:
        return ngettext(
            "%(arm)s is faster than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(count)s pair)",
            "%(arm)s is faster than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(count)s pairs)",
            pairs,
        )
    if verdict is Verdict.SLOWER:
        return ngettext(
            "%(arm)s is slower than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(count)s pair)",
            "%(arm)s is slower than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(count)s pairs)",
            pairs,
        )
    return ngettext(
        "no difference shown between %(arm)s and %(baseline)s: "
        "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(count)s pair)",
        "no difference shown between %(arm)s and %(baseline)s: "
        "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(count)s pairs)",
        pairs,
    )


def _of_runs(verdict: Verdict, runs: int) -> str:
    if verdict is Verdict.FASTER:
        return ngettext(
            "%(arm)s is faster than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(base)s and %(count)s run)",
            "%(arm)s is faster than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(base)s and %(count)s runs)",
            runs,
        )
    if verdict is Verdict.SLOWER:
        return ngettext(
            "%(arm)s is slower than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(base)s and %(count)s run)",
            "%(arm)s is slower than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(base)s and %(count)s runs)",
            runs,
        )
    return ngettext(
        "no difference shown between %(arm)s and %(baseline)s: "
        "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(base)s and %(count)s run)",
        "no difference shown between %(arm)s and %(baseline)s: "
        "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(base)s and %(count)s runs)",
        runs,
    )
