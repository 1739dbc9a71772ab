"""Observations of a whole run as sentences for people; pure."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.models.conditions import ObservedSummary

LabeledText = tuple[str, str]  # label and sentence


def in_words(observed: ObservedSummary) -> list[LabeledText]:
    """Return a label and a sentence for each figure of `ObservationTotals.summary`; empty where there is none."""
    return [*_latency(observed), *_processors(observed), *_checkpoints(observed), *_hidden(observed)]


def _latency(observed: ObservedSummary) -> Iterator[LabeledText]:
    if by := observed.get("uncounted_by"):
        text = _("not counted by %(pooler)s: waiting clients are in the kernel's queue")
        yield _("Queue at the pooler"), text % {"pooler": by}
    if "queue_ms" in observed and "service_ms" in observed:
        yield _("Latency at the pooler"), _queue(observed["queue_ms"], observed["service_ms"])


def _queue(queue_ms: float, service_ms: float) -> str:
    words = {"queue": f"{queue_ms:.3g}", "service": f"{service_ms:.3g}"}
    if not (total_ms := queue_ms + service_ms):
        text = _(
            "%(queue)s ms in the queue for a server connection, %(service)s ms with one; "
            "means over the pool's transactions"
        )
        return text % words
    text = _(
        "%(queue)s ms in the queue for a server connection (%(share)s of both), %(service)s ms with one; "
        "means over the pool's transactions"
    )
    return text % (words | {"share": f"{queue_ms / total_ms:.0%}"})


def _processors(observed: ObservedSummary) -> Iterator[LabeledText]:
    if "cpu_percent" in observed:
        text = _("%(core)s %% of a core, %(share)s %% of what its threads can use")
        words = {"core": f"{observed['cpu_percent']:.0f}", "share": f"{observed['busy_percent']:.0f}"}
        yield _("Processors taken by the load"), text % words
    if "pooler_cpu_percent" in observed:
        text = _("%(share)s %% of the one core a process can use")
        yield _("Processor taken by PgBouncer"), text % {"share": f"{observed['pooler_cpu_percent']:.0f}"}
    if "others_percent" in observed:
        yield _("Processors taken by others"), _others(observed)
    if "service_cpu_percent" in observed:
        text = _("%(share)s %% of the one core it can use")
        yield _("Processor taken by the service"), text % {"share": f"{observed['service_cpu_percent']:.0f}"}


def _others(observed: ObservedSummary) -> str:
    words = {"share": f"{observed['others_percent']:.0f}"}
    if not observed.get("steal_percent"):
        return _("%(share)s %% of all cores of the generator's host") % words
    text = _("%(share)s %% of all cores of the generator's host; %(stolen)s %% were stolen by the hypervisor")
    return text % (words | {"stolen": f"{observed['steal_percent']:.0f}"})


def _checkpoints(observed: ObservedSummary) -> Iterator[LabeledText]:
    timed, requested = observed.get("checkpoints_timed"), observed.get("checkpoints_requested")
    if timed is None or requested is None:
        return
    causes = [ngettext("%(count)s timed", "%(count)s timed", timed) % {"count": f"{timed:,}"}] if timed else []
    text = ngettext("%(count)s requested", "%(count)s requested", requested)
    causes += [text % {"count": f"{requested:,}"}] if requested else []
    yield _("Checkpoints that began"), ", ".join(causes) or _("none")


def _hidden(observed: ObservedSummary) -> Iterator[LabeledText]:
    if hidden := observed.get("hidden"):
        yield _("Hidden from the panel"), hidden
