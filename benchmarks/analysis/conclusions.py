"""Outcomes, verdicts and the sentences in which a comparison reports them; pure."""

from collections.abc import Mapping
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.confidence_intervals import Interval


class Outcome(TextChoices):
    """How a run or an arm ended."""

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


def judged(verdict: Verdict, interval: Interval, names: Mapping[str, Any], rests_on: str) -> str:
    """Return the conclusion of a verdict; `names` are `arm`, `baseline` and `metric`, `rests_on` the runs behind it."""
    texts = {
        Verdict.NO_DIFFERENCE: _(
            "no difference shown between %(arm)s and %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(basis)s)"
        ),
        Verdict.FASTER: _(
            "%(arm)s is faster than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(basis)s)"
        ),
        Verdict.SLOWER: _(
            "%(arm)s is slower than %(baseline)s: "
            "%(metric)s ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s, %(basis)s)"
        ),
    }
    ends = {name: f"{getattr(interval, name):.2f}" for name in ("ratio", "low", "high")}
    return texts[verdict] % {**names, **ends, "basis": rests_on}


def basis(runs: tuple[int, int], pairs: int) -> str:
    """Return the number of runs of baseline and arm that an interval rests on, or of its pairs where there are any."""
    if pairs:
        return ngettext("%(count)s pair", "%(count)s pairs", pairs) % {"count": pairs}
    text = ngettext("%(base)s and %(count)s run", "%(base)s and %(count)s runs", runs[1])
    return text % {"base": runs[0], "count": runs[1]}
