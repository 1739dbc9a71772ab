"""The columns of runs and experiments that their workers write, so that a misspelled one is a type error."""

from datetime import datetime
from typing import TypedDict

from benchmarks.models.advice import AdviceRecord
from benchmarks.models.conditions import RunConditions
from benchmarks.models.evidence import RunEvidence
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import Statement, Summary


class EndColumns(TypedDict, total=False):
    """Columns of a run that go with its final state."""

    validity: str
    gate: str
    reasons: list[str]
    error: str
    exit_code: int | None
    command: list[str]
    progress_percent: float | None
    load_began_at: datetime | None
    ready_at: datetime | None
    start_at: datetime | None
    summary: Summary
    statements: list[Statement]
    client_version: str
    server_version: str
    conditions: RunConditions
    evidence: RunEvidence


class RunColumns(EndColumns, total=False):
    """Columns of a run that an attempt writes."""

    status: str
    options: RunOptions


class ExperimentColumns(TypedDict, total=False):
    """Columns of an experiment that change while it goes on."""

    state: str
    phase: str
    outcome: str
    plan: list[list[str]]
    repeats: int
    wanted_blocks: int
    step: int
    by_admin: bool
    skipped: dict[str, str]
    server_settings: dict[str, str]
    notes: list[str]
    reasons: list[str]
    advice: AdviceRecord
    cancel_requested_at: datetime | None
    started_at: datetime | None
    measuring_at: datetime | None
    finished_at: datetime | None
