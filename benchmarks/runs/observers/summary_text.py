"""What the looks of a whole run came to, in words for people; pure."""

from collections.abc import Iterator
from typing import Any

LabelledText = tuple[str, str]  # label and sentence


def in_words(found: dict[str, Any]) -> list[LabelledText]:
    """Label and sentence of each thing that `LoadCounters.found` tells; nothing where nothing was seen."""
    return [*_latency(found), *_processors(found), *_checkpoints(found), *_hidden(found)]


def _latency(found: dict[str, Any]) -> Iterator[LabelledText]:
    if by := found.get("uncounted_by"):
        yield "Queue at the pooler", f"not counted by {by}: clients that wait stand in the kernel's queue"
    if "queue_ms" in found and "service_ms" in found:
        queue, service = found["queue_ms"], found["service_ms"]
        whole = queue + service
        share = f" ({queue / whole:.0%} of both)" if whole else ""
        yield (
            "Latency at the pooler",
            f"{queue:.3g} ms in the queue for a server connection{share}, {service:.3g} ms with one; "
            "means over the pool's transactions",
        )


def _processors(found: dict[str, Any]) -> Iterator[LabelledText]:
    if "cpu_percent" in found:
        sentence = f"{found['cpu_percent']:.0f} % of a core, {found['busy_percent']:.0f} % of what its threads can use"
        yield "Processors taken by the load", sentence
    if "pooler_cpu_percent" in found:
        yield "Processor taken by PgBouncer", f"{found['pooler_cpu_percent']:.0f} % of the one core a process can use"
    if "others_percent" in found:
        stolen = f"; {found['steal_percent']:.0f} % were stolen by the hypervisor" if found.get("steal_percent") else ""
        sentence = f"{found['others_percent']:.0f} % of all cores of the generator's host{stolen}"
        yield "Processors taken by others", sentence
    if "service_cpu_percent" in found:
        yield "Processor taken by the service", f"{found['service_cpu_percent']:.0f} % of the one core it can use"


def _checkpoints(found: dict[str, Any]) -> Iterator[LabelledText]:
    timed, requested = found.get("checkpoints_timed"), found.get("checkpoints_requested")
    if timed is None or requested is None:
        return
    causes = [f"{count:,} {cause}" for count, cause in ((timed, "timed"), (requested, "requested")) if count]
    yield "Checkpoints that began", ", ".join(causes) or "none"


def _hidden(found: dict[str, Any]) -> Iterator[LabelledText]:
    if hidden := found.get("hidden"):
        yield "Hidden from the panel", hidden
