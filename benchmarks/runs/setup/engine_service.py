"""The services of an engine, run while its load is on."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.engines import engine
from benchmarks.runs.setup.base import SetupContext


@contextmanager
def served(context: SetupContext) -> Iterator[None]:
    """Run the engine's own services, for example the one that it loads."""
    with engine(context.run.engine).run_services(context):
        yield
