"""What an engine itself needs while its load is on."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.engines import engine
from benchmarks.runs.setup.base import SetupContext


@contextmanager
def served(held: SetupContext) -> Iterator[None]:
    """The engine's `around`, where it has one: a service that it loads, say."""
    around = getattr(engine(held.run.engine), "around", None)
    if around is None:
        yield
        return
    with around(held):
        yield
