"""What an engine itself needs while its load is on."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.engines import engine
from benchmarks.runs.setup.base import SetupContext


@contextmanager
def served(held: SetupContext) -> Iterator[None]:
    """The engine's own services: one that it loads, say."""
    with engine(held.run.engine).run_services(held):
        yield
