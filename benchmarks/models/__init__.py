"""Models of this app, one module for each noun."""

from benchmarks.models.ceilings import Ceiling, Holder
from benchmarks.models.datasets import Dataset
from benchmarks.models.endpoints import ExternalEndpoint
from benchmarks.models.experiments import (
    Experiment,
    ExperimentResource,
    ExperimentState,
    Phase,
    Playbook,
    ResourceKind,
)
from benchmarks.models.generators import Generator
from benchmarks.models.links import SharedLink
from benchmarks.models.outputs import RunOutput
from benchmarks.models.profiles import AppliedProfile, SettingsProfile
from benchmarks.models.run_states import ACTIVE, FINAL, Gate, Purpose, Status, Validity
from benchmarks.models.runs import Run
from benchmarks.models.samples import LatencyHistogram, Observation, ObservationKind, PoolSample, Sample
from benchmarks.models.schedule_notices import NoticeKind, ScheduleNotice
from benchmarks.models.schedules import Schedule, ScheduledStart, StartState
from benchmarks.models.scripts import Script, ScriptVersion
from benchmarks.models.tags import Tag

__all__ = [
    "ACTIVE",
    "FINAL",
    "AppliedProfile",
    "Ceiling",
    "Dataset",
    "Experiment",
    "ExperimentResource",
    "ExperimentState",
    "ExternalEndpoint",
    "Gate",
    "Generator",
    "Holder",
    "LatencyHistogram",
    "NoticeKind",
    "Observation",
    "ObservationKind",
    "Phase",
    "Playbook",
    "PoolSample",
    "Purpose",
    "ResourceKind",
    "Run",
    "RunOutput",
    "Sample",
    "Schedule",
    "ScheduleNotice",
    "ScheduledStart",
    "Script",
    "ScriptVersion",
    "SettingsProfile",
    "SharedLink",
    "StartState",
    "Status",
    "Tag",
    "Validity",
]
