"""Values of entries' fields in examples."""

from collections.abc import Mapping

ENTRY: dict[str, object] = {
    "id": "6a1f0c3e-2b4d-4f58-9c7a-8e5d1b0f3a21",
    "name": "reports",
    "pool": None,
    "host": "db1.example.org",
    "port": 5432,
    "database": "orders",
    "user": "reports_app",
    "size": 10,
    "reserve": 2,
    "max_connections": 0,
    "most_connections": 12,
    "connections": 4,
    "paused_until": None,
    "source": None,
    "kept_because": "",
}
SOURCE = {"file": "/etc/pgbouncer/databases.ini", "line": 12}
WATCHED_LINE: dict[str, object] = {
    "text": "pgbouncer1.example.org",
    "name": "pgbouncer1.example.org",
    "server_version": "PgBouncer 1.24.1",
    "entries": 5,
    "error": "",
}
TAKE_OVER: dict[str, Mapping[str, object]] = {
    "EntryCluster": {"id": "0b8f3c52-6f1d-4f0e-8f0a-3f6f1a2b7c10", "name": "orders"},
    "Place": SOURCE,
    "TriedLogin": {"role": "reports_app", "error": ""},
    "FileChange": {
        "file": "/etc/pgbouncer/databases.ini",
        "diff": (
            "@@ -12 +12 @@\n"
            "-reports = host=db1.example.org dbname=orders user=reports_app\n"
            "+; taken over by Pooldeck: reports = host=db1.example.org dbname=orders user=reports_app\n"
        ),
    },
    "ProposedEntry": {"name": "reports", "becomes": "pool", "because": "", "register": None},
    "ProposedPool": {"database": "orders", "user": "reports_app", "mode": "session", "size": 10, "settings": {}},
    "ReadFile": {
        "path": "/etc/pgbouncer/pgbouncer.ini",
        "role": "main",
        "sha256": "20ac68ede74ab427133be99d1d7f16e3233c1bf3ae5242e482df8db35b436968",
    },
    "TakeOverPreview": {"blockers": [], "notes": []},
    "UnregisteredServer": {"host": "db2.example.org", "port": 5432},
}
