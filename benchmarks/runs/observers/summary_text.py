"""Observations of a whole run as sentences for people; pure."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.models.conditions import ObservedSummary

LabeledText = tuple[str, str]  # label and sentence


def in_words(found: ObservedSummary) -> list[LabeledText]:
    """Return a label and a sentence for each figure of `ObservationTotals.summary`; empty where there is none."""
    return [*_latency(found), *_processors(found), *_checkpoints(found), *_hidden(found)]


def _latency(found: ObservedSummary) -> Iterator[LabeledText]:
    if by := found.get("uncounted_by"):
        text = _("not counted by %(pooler)s: waiting clients are in the kernel's queue")
        yield _("Queue at the pooler"), text % {"pooler": by}
    if "queue_ms" in found and "service_ms" in found:
        yield _("Latency at the pooler"), _queue(found["queue_ms"], found["service_ms"])


def _queue(queue_ms: float, service_ms: float) -> str:
    words = {"queue": f"{queue_ms:.3g}", "service": f"{service_ms:.3g}"}
    if not (whole := queue_ms + service_ms):
        text = _(
            "%(queue)s ms in the queue for a server connection, %(service)s ms with one; "
            "means over the pool's transactions"
        )
        return text % words
    text = _(
        "%(queue)s ms in the queue for a server connection (%(share)s of both), %(service)s ms with one; "
        "means over the pool's transactions"
    )
    return text % (words | {"share": f"{queue_ms / whole:.0%}"})


def _processors(found: ObservedSummary) -> Iterator[LabeledText]:
    if "cpu_percent" in found:
        text = _("%(core)s %% of a core, %(share)s %% of what its threads can use")
        words = {"core": f"{found['cpu_percent']:.0f}", "share": f"{found['busy_percent']:.0f}"}
        yield _("Processors taken by the load"), text % words
    if "pooler_cpu_percent" in found:
        text = _("%(share)s %% of the one core a process can use")
        yield _("Processor taken by PgBouncer"), text % {"share": f"{found['pooler_cpu_percent']:.0f}"}
    if "others_percent" in found:
        yield _("Processors taken by others"), _others(found)
    if "service_cpu_percent" in found:
        text = _("%(share)s %% of the one core it can use")
        yield _("Processor taken by the service"), text % {"share": f"{found['service_cpu_percent']:.0f}"}


def _others(found: ObservedSummary) -> str:
    words = {"share": f"{found['others_percent']:.0f}"}
    if not found.get("steal_percent"):
        return _("%(share)s %% of all cores of the generator's host") % words
    text = _("%(share)s %% of all cores of the generator's host; %(stolen)s %% were stolen by the hypervisor")
    return text % (words | {"stolen": f"{found['steal_percent']:.0f}"})


def _checkpoints(found: ObservedSummary) -> Iterator[LabeledText]:
    timed, requested = found.get("checkpoints_timed"), found.get("checkpoints_requested")
    if timed is None or requested is None:
        return
    causes = [ngettext("%(count)s timed", "%(count)s timed", timed) % {"count": f"{timed:,}"}] if timed else []
    text = ngettext("%(count)s requested", "%(count)s requested", requested)
    causes += [text % {"count": f"{requested:,}"}] if requested else []
    yield _("Checkpoints that began"), ", ".join(causes) or _("none")


def _hidden(found: ObservedSummary) -> Iterator[LabeledText]:
    if hidden := found.get("hidden"):
        yield _("Hidden from the panel"), hidden
