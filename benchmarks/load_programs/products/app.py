"""The products service: `/products/new`, `/products/normal` and `/products/pooled` answer 1,000 products as JSON.

`python -m benchmarks.load_programs.products.app [--pool-size N] [--pool-idle N] [--pool-lifetime S]
[--pool-idle-time S]` listens on a free port of 127.0.0.1 and prints `listening on PORT`. libpq's variables hold its
endpoint, PGPASSFILE the password. It is one process, so it uses one processor.
"""

import argparse
import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import psycopg
import uvicorn
from psycopg_pool import PoolTimeout

from benchmarks.load_programs.products.connections import IDLE_TIME_S, LIFETIME_S, MOST_OPEN, PoolLimits, targets

ROWS = 1_000
QUERY = f"SELECT id, name, price::float8, description FROM products ORDER BY id LIMIT {ROWS}"  # noqa: S608 (a constant)
COLUMNS = ("id", "name", "price", "description")
BACKLOG = 2_048

Scope: TypeAlias = MutableMapping[str, Any]  # The ASGI specification defines these types.
Message: TypeAlias = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


class Products:
    """The ASGI application."""

    def __init__(self, limits: PoolLimits) -> None:
        self.sources = targets(limits)

    async def __call__(self, scope: Scope, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        """Answer one request."""
        source = self.sources.get(scope["path"].removeprefix("/products/"))
        if source is None:
            await _answer(send, 404, b'{"error": "there is /products/new, /products/normal and /products/pooled"}')
            return
        try:
            async with source.connection() as connection:
                rows = await (await connection.execute(QUERY)).fetchall()
        except (psycopg.Error, PoolTimeout) as error:
            await _answer(send, 500, json.dumps({"error": str(error).strip()}).encode())
            return
        products = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        await _answer(send, 200, json.dumps(products, separators=(",", ":")).encode())

    async def close(self) -> None:
        """Close all connections that are kept open."""
        for source in self.sources.values():
            await source.close()


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def serve(limits: PoolLimits) -> None:
    """Serve until the process is ended."""
    app = Products(limits)
    listening = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    config = uvicorn.Config(app, lifespan="off", log_level="error", access_log=False, backlog=BACKLOG)
    print(f"listening on {listening.getsockname()[1]}", flush=True)
    try:
        await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        await app.close()


def main() -> None:
    """Parse the arguments and serve."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--pool-size", type=int, default=MOST_OPEN)
    words.add_argument("--pool-idle", type=int)
    words.add_argument("--pool-lifetime", type=float, default=LIFETIME_S)
    words.add_argument("--pool-idle-time", type=float, default=IDLE_TIME_S)
    arguments = words.parse_args()
    asyncio.run(
        serve(PoolLimits(arguments.pool_size, arguments.pool_idle, arguments.pool_lifetime, arguments.pool_idle_time))
    )


if __name__ == "__main__":
    main()
