"""What happens around a load while it is on: watched in threads of its worker, told on the load's own clock.

A watcher is a context manager that takes an `Overlay` and puts what it sees into the events; a new one is a module
here and a line in `WATCHERS`. What it must hold before the load takes all connections is opened by `sight`.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from benchmarks.models import Purpose
from benchmarks.overlays import generator, host, pool, server
from benchmarks.overlays.contract import Overlay

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
        if overlay.run.purpose == Purpose.LOAD:
            for watcher in WATCHERS:
                stack.enter_context(watcher(overlay))
        yield
