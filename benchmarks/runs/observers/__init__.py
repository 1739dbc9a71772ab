"""What happens around a load while it is on: watched in threads of its worker, told on the load's own clock.

A watcher is a context manager that takes an `Overlay` and puts what it sees into the events; a new one is a module
here and a line in `WATCHERS`. What it must hold before the load takes all connections is opened by `sight`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from benchmarks.models import Purpose, Run
from benchmarks.runs.observers import generator, host, pool, server
from benchmarks.runs.observers.base import Overlay

WATCHERS: tuple[Callable[[Overlay], AbstractContextManager[None]], ...] = (
    pool.watching,
    server.watching,
    host.watching,
    generator.watching,
)


@contextmanager
def watching(overlay: Overlay) -> Iterator[None]:
    """All watchers while the load is on; none of a dataset being prepared."""
    with ExitStack() as stack:
        for watcher in _watchers_of(overlay.run):
            stack.enter_context(watcher(overlay))
        yield


def _watchers_of(run: Run) -> Sequence[Callable[[Overlay], AbstractContextManager[None]]]:
    """All of them; over several generators each part looks at its own, and the whole at what they share."""
    if run.purpose != Purpose.LOAD:
        return ()
    if run.parent_id is not None:
        return (generator.watching,)
    return [one for one in WATCHERS if one is not generator.watching] if run.is_spread else WATCHERS
