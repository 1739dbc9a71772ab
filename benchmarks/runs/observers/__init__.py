"""Observers of a load: each runs in a thread of the worker and puts observations into the run's events, on its clock.

An observer is a context manager that takes a `LoadContext`; a new one is a module here and a line in `OBSERVERS`.
Connections that it needs are opened by `probes` before the load takes all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from benchmarks.models import Purpose, Run
from benchmarks.runs.observers import generator, generator_host, host, pool, server
from benchmarks.runs.observers.base import LoadContext

OBSERVERS: tuple[Callable[[LoadContext], AbstractContextManager[None]], ...] = (
    pool.watching,
    server.watching,
    host.watching,
    generator.watching,
    generator_host.watching,
)

# These observe this machine, so they tell nothing of a load on another one.
OF_THIS_MACHINE = (host.watching, generator.watching)


@contextmanager
def watching(context: LoadContext) -> Iterator[None]:
    """Run all observers while the load is on; none while a dataset is prepared."""
    with ExitStack() as stack:
        for observer in _observers_of(context.run):
            if not context.pid and observer in OF_THIS_MACHINE:
                continue
            stack.enter_context(observer(context))
        yield


def _observers_of(run: Run) -> Sequence[Callable[[LoadContext], AbstractContextManager[None]]]:
    """Return the run's observers; of a distributed run, each part observes its generator, and the whole the rest."""
    if run.purpose != Purpose.LOAD:
        return ()
    if run.parent_id is not None:
        return (generator.watching,)
    return [one for one in OBSERVERS if one is not generator.watching] if run.is_spread else OBSERVERS
