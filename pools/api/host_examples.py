"""Values of hosts' fields in examples."""

from typing import Any

FOUND_POOLER: dict[str, Any] = {
    "kind": "pgbouncer",
    "main_file": "/etc/pgbouncer/pgbouncer.ini",
    "ports": [6432],
    "addresses": ["127.0.0.1"],
    "socket_folders": ["/var/run/postgresql"],
    "control_sockets": [],
    "processes": [{"pid": 812, "user": "postgres", "main_file": "/etc/pgbouncer/pgbouncer.ini"}],
    "version": "PgBouncer 1.24.1",
    "unit": "pgbouncer.service",
}
HOST: dict[str, Any] = {
    "id": "6a1d9c3e-2f4b-4e57-9b80-1c2d3e4f5a60",
    "version": 2,
    "name": "db-1",
    "address": "db1.example.org",
    "port": 22,
    "user": "postgres",
    "jump": None,
    "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKl0…",
    "authorized_keys_line": (
        'restrict,port-forwarding,permitopen="localhost:6432",permitopen="127.0.0.1:6432",permitopen="[::1]:6432",'
        'permitopen="[/var/run/postgresql/.s.PGSQL.6432]:*" '
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKl0… pooldeck-6a1d9c3e-2f4b-4e57-9b80-1c2d3e4f5a60"
    ),
    "host_key": {"type": "ssh-ed25519", "fingerprint": "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"},
    "offered_host_key": None,
    "state": "online",
    "error": "",
    "programs": {"pgbouncer": {"path": "/usr/sbin/pgbouncer", "version": "PgBouncer 1.24.1"}},
    "found": [FOUND_POOLER],
}
HOSTS: dict[str, dict[str, Any]] = {
    "ConfirmedKey": {"fingerprint": "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"},
    "FoundPooler": FOUND_POOLER,
    "FoundProcess": FOUND_POOLER["processes"][0],
    "Host": HOST,
    "HostKey": HOST["host_key"],
    "InstalledProgram": HOST["programs"]["pgbouncer"] | {"fault": ""},
}
