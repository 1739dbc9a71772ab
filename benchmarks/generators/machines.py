"""The machine that a run's load is started on, by its generator."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.models import Run
from benchmarks.processes.machines import Machine, ThisMachine


@contextmanager
def of_run(run: Run) -> Iterator[Machine]:
    """Give the machine of the run's generator: that of this worker."""
    yield ThisMachine()
