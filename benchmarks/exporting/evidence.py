"""All that is known of a run in one document, by which somebody else can judge its figures or repeat it."""

from typing import Any

from benchmarks.judging import gates
from benchmarks.models import LatencyHistogram, Run, RunOutput
from benchmarks.running import live

FORMAT = "pooldeck run 1"


def of(run: Run) -> dict[str, Any]:
    """Command, options, versions, settings, pooler revision, hardware, conditions, figures, samples and looks.

    No password is in it: the command holds none, and secrets among the settings are told to be set only.
    """
    return {
        "format": FORMAT,
        "run": _itself(run),
        "result": _result(run),
        "conditions": run.conditions,
        "surroundings": run.evidence,
        "samples": [live.sample_payload(row) for row in run.samples.order_by("attempt", "seq")],
        "pool_samples": [live.pool_payload(row) for row in run.pool_samples.order_by("attempt", "seq")],
        "looks": [{"kind": row.kind, "t": row.t, **row.figures} for row in run.looks.order_by("attempt", "seq")],
        "latency_histogram": _histogram(run),
        "output": _output(run),
        "parts": [of(part) for part in run.parts.order_by("number")],
    }


def _itself(run: Run) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "number": run.number,
        "name": run.name,
        "note": run.note,
        "tags": [tag.name for tag in run.tags.all()],
        "purpose": run.purpose,
        "engine": run.engine,
        "target": {
            "label": run.target_label,
            "database": run.database,
            "pooled": run.went_through_pool,
            "role": run.role,
            "removed": run.removed,
        },
        "options": run.options,
        "command": run.command,
        "generator": run.generator,
        "generators": run.wanted_generators,
        "attempt": run.attempt,
        "client_version": run.client_version,
        "server_version": run.server_version,
        **{name: _time(getattr(run, name)) for name in ("created_at", "started_at", "load_began_at", "finished_at")},
    }


def _result(run: Run) -> dict[str, Any]:
    return {
        "status": run.status,
        "validity": run.validity,
        "reasons": run.reasons,
        "error": run.error,
        "exit_code": run.exit_code,
        "summary": run.summary,
        "statements": run.statements,
        "thresholds": [
            {"metric": one.metric, one.bound: one.limit, "value": one.value, "passed": one.passed}
            for one in gates.judge(run.thresholds, run.summary)
        ],
        "gate": run.gate,
    }


def _histogram(run: Run) -> dict[str, Any] | None:
    found = LatencyHistogram.objects.filter(run=run).first()
    if found is None:
        return None
    return {"hdr_base64": found.encoded, "count": found.count, "sampling_rate": found.sampling_rate}


def _output(run: Run) -> dict[str, Any] | None:
    found = RunOutput.objects.filter(run=run).first()
    if found is None:
        return None
    return {"stdout": found.stdout, "stderr": found.stderr, "truncated": found.truncated}


def _time(moment: Any) -> str | None:
    return moment.isoformat() if moment else None
