"""What holds before and around a load, and is put back after it whatever happens.

A condition is a context manager that takes a `Held`; a new one is a module here and a line in `CONDITIONS`, in the
order in which they are set up (they are taken back in the opposite order).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.models import Purpose, Run
from benchmarks.recording import Recorder
from pools.endpoints import Endpoint


@dataclass(frozen=True)
class Held:
    """A run about to start: where it logs in, its private home, and its recorder for what is done and measured."""

    run: Run
    endpoint: Endpoint
    home: Path
    recorder: Recorder


CONDITIONS: tuple[Callable[[Held], AbstractContextManager[None]], ...] = ()


@contextmanager
def held(around: Held) -> Iterator[None]:
    """Every condition of a load, one inside the other; none of a dataset being prepared."""
    with ExitStack() as stack:
        if around.run.purpose == Purpose.LOAD:
            for condition in CONDITIONS:
                stack.enter_context(condition(around))
        yield
