"""The servers of the bench: a PostgreSQL and a Redis of its own, and a console that never answers."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panel.quickstart.ports import free_port
from panel.quickstart.servers import PostgresServer, RedisServer

PASSWORD = "of the bench only"
ROLE = "scale"


@contextmanager
def postgresql(home: Path) -> Iterator[str]:
    """Run a PostgreSQL whose cluster stays in `home`, and yield DATABASE_URL."""
    with PostgresServer(home, free_port(), password=PASSWORD, settings={"fsync": "off"}) as server:
        server.create_owner_and_database(ROLE, ROLE, ROLE)
        yield f"postgresql://{ROLE}:{ROLE}@{server.host}:{server.port}/{ROLE}"


@contextmanager
def redis(home: Path) -> Iterator[str]:
    """Run an empty Redis, and yield REDIS_URL."""
    with RedisServer(home, free_port(), ROLE) as server:
        yield server.url


@contextmanager
def silent_console() -> Iterator[int]:
    """Yield a port at loopback that takes connections and never answers, as a pooler that hangs."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        yield listening.getsockname()[1]
