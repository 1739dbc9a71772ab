"""Values of entries' fields in examples."""

from typing import Any

ENTRY: dict[str, Any] = {
    "id": "6a1f0c3e-2b4d-4f58-9c7a-8e5d1b0f3a21",
    "name": "reports",
    "pool": None,
    "host": "db1.example.org",
    "port": 5432,
    "database": "orders",
    "user": "reports_app",
    "mode": "session",
    "size": 10,
    "reserve": 2,
    "max_connections": 0,
    "most_connections": 12,
    "connections": 4,
    "paused": False,
    "disabled": False,
    "source": None,
    "kept_because": "",
}
SOURCE = {"file": "/etc/pgbouncer/databases.ini", "line": 12}
WATCHED_LINE: dict[str, Any] = {
    "line": 1,
    "text": "pgbouncer1.example.org",
    "state": "watched",
    "name": "pgbouncer1.example.org",
    "server_version": "PgBouncer 1.24.1",
    "entries": 5,
    "unregistered": 1,
    "error": "",
}
