"""The full record of a run as one JSON document, complete enough to judge its figures or repeat it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from benchmarks.models import LatencyHistogram, Observation, PoolSample, Run, RunOutput, Sample, thresholds
from benchmarks.results.export.csv import in_blocks
from benchmarks.runs.live import events

FORMAT = "pooldeck run 1"


def of(run: Run) -> Iterator[str]:
    """Yield the text of one JSON document in pieces, one row per line, since a day-long run has a hundred megabytes.

    It holds command, options, versions, settings, pooler revision, hardware, conditions, figures, samples and
    observations, but no password: the command has none, and of secret settings it says only that they are set.
    """
    yield "{\n"
    yield from _members(
        format=FORMAT,
        run=_itself(run),
        result=_result(run),
        conditions=run.conditions,
        surroundings=run.evidence,
    )
    yield from _rows("samples", map(_samples, in_blocks(run.samples.all())))
    yield from _rows("pool_samples", map(_pool_samples, in_blocks(run.pool_samples.all())))
    yield from _rows("looks", map(_observations, in_blocks(run.observations.all())))
    yield from _members(latency_histogram=_histogram(run), output=_output(run))
    yield '"parts": ['
    for at, part in enumerate(run.parts.order_by("number")):
        yield ",\n" if at else "\n"
        yield from of(part)
    yield "]\n}\n"


def _members(**members: object) -> Iterator[str]:
    for name, value in members.items():
        yield f'"{name}": {_text(value)},\n'


def _rows(name: str, blocks: Iterator[Sequence[Mapping[str, object]]]) -> Iterator[str]:
    yield f'"{name}": ['
    for at, block in enumerate(blocks):
        yield (",\n" if at else "\n") + ",\n".join(_text(row) for row in block)
    yield "],\n"


def _text(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _samples(block: list[Sample]) -> list[events.Figures]:
    return [events.sample_payload(row) for row in block]


def _pool_samples(block: list[PoolSample]) -> list[events.Figures]:
    return [events.pool_payload(row) for row in block]


def _observations(block: list[Observation]) -> list[dict[str, object]]:
    return [{"kind": row.kind, "t": row.t, **row.figures} for row in block]


def _itself(run: Run) -> dict[str, object]:
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
            "external": run.is_external,
            "pooled_by": run.pooled_by,
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


def _result(run: Run) -> dict[str, object]:
    return {
        "status": run.status,
        "validity": run.validity,
        "reasons": run.reasons,
        "error": run.error,
        "exit_code": run.exit_code,
        "summary": run.summary,
        "statements": run.statements,
        "thresholds": [one.as_json() for one in thresholds.judge(run.thresholds, run.summary)],
        "gate": run.gate,
    }


def _histogram(run: Run) -> dict[str, object] | None:
    found = LatencyHistogram.objects.filter(run=run).first()
    if found is None:
        return None
    return {"hdr_base64": found.encoded, "count": found.count, "sampling_rate": found.sampling_rate}


def _output(run: Run) -> dict[str, object] | None:
    found = RunOutput.objects.filter(run=run).first()
    if found is None:
        return None
    return {"stdout": found.stdout, "stderr": found.stderr, "truncated": found.truncated}


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
