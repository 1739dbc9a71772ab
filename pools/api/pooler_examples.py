"""Values of poolers' fields in examples."""

from typing import Any

POOLER = "4d2a7b96-1c3e-4a58-b7d9-90e1f2a3b4c5"
POOLER_FIELDS: dict[str, Any] = {
    "id": POOLER,
    "version": 3,
    "name": "pgbouncer-1",
    "host": "pgbouncer1.example.org",
    "port": 6432,
    "pcp_port": None,
    "admin_user": "pooldeck",
    "admin_password": "CONSOLE-PASSWORD",
    "management": "managed",
    "config_dir": "/etc/pgbouncer",
    "config_file": "/etc/pgbouncer/pgbouncer.ini",
    "ssh_host": None,
    "client_host": "pool.example.org",
    "client_port": 5432,
    "stats_address": "",
    "commands_refused": "",
    "generator": "local",
    "settings": {"max_client_conn": 500},
    "user_settings": {"reports": {"pool_mode": "session"}},
    "settings_state": "applied",
    "settings_reason": "",
    "needs_restart": [],
    "children_behind": 0,
    "processes": [
        {
            "name": "pgbouncer.ini",
            "main_file": "/etc/pgbouncer/pgbouncer.ini",
            "pid": 812,
            "socket": "/run/pgbouncer",
            "peer_id": None,
            "version": "PgBouncer 1.24.1",
            "state": "online",
        }
    ],
    "processes_note": "",
    "processes_awaited": "",
    "state": "online",
    "server_version": "1.25.1",
    "files_looked_at": "2026-03-05T16:12:30Z",
    "advisories": [],
    "detail": "",
}
