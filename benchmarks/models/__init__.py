"""The records of this app, one module a noun."""

from benchmarks.models.datasets import Dataset
from benchmarks.models.runs import ACTIVE, FINAL, Purpose, Run, RunOutput, Status, Validity
from benchmarks.models.samples import PoolSample, Sample

__all__ = [
    "ACTIVE",
    "FINAL",
    "Dataset",
    "PoolSample",
    "Purpose",
    "Run",
    "RunOutput",
    "Sample",
    "Status",
    "Validity",
]
