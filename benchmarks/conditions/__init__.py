"""What holds before and around a load, and is put back after it whatever happens.

A condition is a context manager that takes a `Held`; a new one is a module here and a line in `CONDITIONS`, in the
order in which they are set up (they are taken back in the opposite order).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from benchmarks.conditions.contract import Held
from benchmarks.models import Purpose

CONDITIONS: tuple[Callable[[Held], AbstractContextManager[None]], ...] = ()


@contextmanager
def held(around: Held) -> Iterator[None]:
    """Every condition of a load, one inside the other; none of a dataset being prepared."""
    with ExitStack() as stack:
        if around.run.purpose == Purpose.LOAD:
            for condition in CONDITIONS:
                stack.enter_context(condition(around))
        yield
