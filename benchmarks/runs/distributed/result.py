"""What became of a run over several generators, from what became of its parts."""

from typing import Any

from benchmarks.analysis.latency import histogram
from benchmarks.models import LatencyHistogram, Run, Status, Validity
from benchmarks.runs.distributed import merge_summaries
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.execution.runner import Ending, Stopped, incomplete

WORST_FIRST = (Validity.INCOMPLETE, Validity.SUSPECT, Validity.VALID)
APART_MS = 250.0  # beyond which the first or last second of the merged figures is not of all generators


def ending(run: Run, recorder: Recorder, parts: list[Run], stop: Stopped | None) -> Ending:
    """The final state of the whole: succeeded where every part did, and never more valid than the least of them."""
    found: dict[str, Any] = {"conditions": run.conditions | {"start": start_of(parts)}}
    if stop is not None or any(part.status != Status.SUCCEEDED for part in parts):
        why = stop or Stopped("not every part came to its end; figures are those until then")
        status = stop.status if stop else Status.FAILED
        return incomplete(status, str(why), **found)
    validity, reasons = verdict(run, parts)
    found |= {
        "validity": validity,
        "reasons": reasons,
        "exit_code": 0,
        "summary": summary(run, parts),
        "statements": merge_summaries.statements(
            [part.statements for part in parts], [float(part.summary.get("transactions") or 0) for part in parts]
        ),
        "client_version": ", ".join(sorted({part.client_version for part in parts if part.client_version}))[:200],
    }
    return Ending(Status.SUCCEEDED, found)


def start_of(parts: list[Run]) -> dict[str, Any]:
    """How far apart the programs were started, by each generator's own measure; empty before all were."""
    late = {part.generator: part.conditions.get("start", {}).get("late_ms") for part in parts}
    known = [ms for ms in late.values() if ms is not None]
    if len(known) < len(parts):
        return {}
    wrong = max(part.conditions["start"]["clock_error_ms"] for part in parts)
    return {"spread_ms": round(max(known) - min(known), 3), "clock_error_ms": wrong, "late_ms": late}


def verdict(run: Run, parts: list[Run]) -> tuple[Validity, list[str]]:
    """The least valid of the parts decides, each with its reasons; so does a start that was none.

    What limited the load of a valid part is among its reasons, and leaves it valid.
    """
    reasons = [f"{part.generator}: {reason}" for part in parts for reason in part.reasons]
    validities = {Validity(part.validity) for part in parts}
    spread_ms = start_of(parts).get("spread_ms")
    if spread_ms is None or spread_ms > APART_MS:
        validities.add(Validity.SUSPECT)
        apart = "at times unknown" if spread_ms is None else f"{spread_ms:,.0f} ms apart"
        reasons.append(f"the loads began {apart}, so the first and last seconds are not of all generators")
    return next(least for least in WORST_FIRST if least in validities), reasons


def summary(run: Run, parts: list[Run]) -> dict[str, Any]:
    """The figures of all parts as one, percentiles from the merged histograms where each part has one."""
    figures = merge_summaries.merged([part.summary for part in parts])
    kept = list(LatencyHistogram.objects.filter(run__in=parts))
    if not kept or len(kept) < len(parts):
        return figures
    whole = histogram.merged((one.encoded, one.stands_for) for one in kept)
    logged = sum(one.count for one in kept)
    rate = logged / sum(one.stands_for for one in kept)
    values = {"encoded": whole.encoded(), "count": logged, "sampling_rate": rate}
    LatencyHistogram.objects.update_or_create(run=run, defaults=values)
    percentiles = {f"latency_{name}_ms": value for name, value in whole.percentiles_ms().items()}
    return figures | percentiles | {"latency_samples": logged}
