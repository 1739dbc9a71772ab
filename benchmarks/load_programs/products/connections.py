"""Three ways in which the products service gets its connections, alike in all else."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

# The published experiment that the service repeats has these limits.
MOST_OPEN, KEPT_IDLE, LIFETIME_S = 90, 50, 120.0
IDLE_TIME_S = 600.0  # the default of psycopg_pool
WAIT_S = 30.0  # the longest wait for a connection of the pool
Connection = AsyncConnection[tuple[Any, ...]]


@dataclass(frozen=True)
class PoolLimits:
    """Limits of the pool inside the application.

    At most `size` connections are open, `idle` of them are kept open without work (None: five ninths of the size, as
    published), each is replaced after `lifetime_s`, and those beyond `idle` are closed after `idle_time_s` without
    work.
    """

    size: int = MOST_OPEN
    idle: int | None = None
    lifetime_s: float = LIFETIME_S
    idle_time_s: float = IDLE_TIME_S

    @property
    def kept(self) -> int:
        """The connections that are kept open, at most the size."""
        return max(1, self.size * KEPT_IDLE // MOST_OPEN) if self.idle is None else min(self.idle, self.size)


class Source(Protocol):
    """A source of connections for requests."""

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """Return an asynchronous context manager that provides a connection and takes it back."""

    async def close(self) -> None:
        """Close the connections that are kept open."""


async def connect() -> Connection:
    """Connect to the endpoint in libpq's variables; statements are never prepared, so that any pool mode works."""
    return await AsyncConnection.connect(autocommit=True, prepare_threshold=None)


class New:
    """A new connection for each request, closed after it."""

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Open a connection, and close it after use."""
        async with await connect() as connection:
            yield connection

    async def close(self) -> None:
        """Do nothing: no connection is kept open."""


class Normal:
    """One shared handle that keeps one idle connection; while that is in use, each request opens one of its own."""

    def __init__(self) -> None:
        self._idle: Connection | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Provide the idle connection, or a new one."""
        idle, self._idle = self._idle, None
        used = idle if idle is not None and not idle.closed else await connect()
        try:
            yield used
        finally:
            if self._idle is None and not used.closed:
                self._idle = used
            else:
                await used.close()

    async def close(self) -> None:
        """Close the idle connection."""
        if self._idle is not None:
            await self._idle.close()


class PooledConnections:
    """A pool inside the application."""

    def __init__(self, limits: PoolLimits) -> None:
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            min_size=limits.kept,
            max_size=limits.size,
            max_lifetime=limits.lifetime_s,
            max_idle=limits.idle_time_s,
            timeout=WAIT_S,
            open=False,
            kwargs={"autocommit": True, "prepare_threshold": None},
        )
        self._opened = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Provide a connection of the pool, which the first request opens."""
        if not self._opened:
            self._opened = True
            await self._pool.open()
        async with self._pool.connection() as lent:
            yield lent

    async def close(self) -> None:
        """Close the pool and its connections; those that are lent out when they come back."""
        await self._pool.close()


def targets(limits: PoolLimits) -> dict[str, Source]:
    """Return each source by its name; none is connected yet."""
    return {"new": New(), "normal": Normal(), "pooled": PooledConnections(limits)}
