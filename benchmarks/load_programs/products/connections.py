"""The three ways in which the products service gets its connections; alike in all else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

# of the published experiment that the service repeats
MOST_OPEN, KEPT_IDLE, LIFETIME_S = 90, 50, 120.0
WAIT_S = 30.0  # for a connection of the pool
Connection = AsyncConnection[tuple[Any, ...]]


class Source(Protocol):
    """Where a request takes its connection from."""

    def connection(self) -> Any:
        """An asynchronous context manager that gives one and takes it back."""

    async def close(self) -> None:
        """Let go of those that are kept."""


async def connect() -> Connection:
    """To where libpq's variables say. Statements are never prepared, so that every mode of a pooler will do."""
    return await AsyncConnection.connect(autocommit=True, prepare_threshold=None)


class New:
    """A new connection for each request, closed after it."""

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Made here and closed."""
        async with await connect() as made:
            yield made

    async def close(self) -> None:
        """Nothing is kept."""


class Normal:
    """One shared handle that keeps one idle connection: what comes while that is in use opens another, then closed."""

    def __init__(self) -> None:
        self._idle: Connection | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """The idle one, or a new one."""
        taken, self._idle = self._idle, None
        used = taken if taken is not None and not taken.closed else await connect()
        try:
            yield used
        finally:
            if self._idle is None and not used.closed:
                self._idle = used
            else:
                await used.close()

    async def close(self) -> None:
        """Close the idle one."""
        if self._idle is not None:
            await self._idle.close()


class Pooled:
    """A pool inside the application of `size` connections at the most, as large a share of them kept idle as there."""

    def __init__(self, size: int = MOST_OPEN) -> None:
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            min_size=max(1, size * KEPT_IDLE // MOST_OPEN),
            max_size=size,
            max_lifetime=LIFETIME_S,
            timeout=WAIT_S,
            open=False,
            kwargs={"autocommit": True, "prepare_threshold": None},
        )
        self._opened = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """One of the pool's; the first request opens it."""
        if not self._opened:
            self._opened = True
            await self._pool.open()
        async with self._pool.connection() as lent:
            yield lent

    async def close(self) -> None:
        """Close the pool."""
        await self._pool.close()


def targets(pool_size: int) -> dict[str, Source]:
    """Each by its name, none connected yet."""
    return {"new": New(), "normal": Normal(), "pooled": Pooled(pool_size)}
