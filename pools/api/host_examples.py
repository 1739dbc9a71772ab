"""Values of hosts' fields in examples."""

from collections.abc import Mapping

PROCESS = {"pid": 812, "user": "postgres", "main_file": "/etc/pgbouncer/pgbouncer.ini"}
FOUND_POOLER: dict[str, object] = {
    "kind": "pgbouncer",
    "main_file": "/etc/pgbouncer/pgbouncer.ini",
    "ports": [6432],
    "addresses": ["127.0.0.1"],
    "socket_folders": ["/var/run/postgresql"],
    "control_sockets": [],
    "processes": [PROCESS],
    "version": "PgBouncer 1.24.1",
    "unit": "pgbouncer.service",
}
FINGERPRINT = "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"
HOST_KEY = {"type": "ssh-ed25519", "fingerprint": FINGERPRINT}
PROGRAM = {"path": "/usr/sbin/pgbouncer", "version": "PgBouncer 1.24.1"}
HOST: dict[str, object] = {
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
    "host_key": HOST_KEY,
    "offered_host_key": None,
    "state": "online",
    "error": "",
    "programs": {"pgbouncer": PROGRAM},
    "found": [FOUND_POOLER],
}
HOSTS: dict[str, Mapping[str, object]] = {
    "ConfirmedKey": {"fingerprint": FINGERPRINT},
    "FoundPooler": FOUND_POOLER,
    "FoundProcess": PROCESS,
    "Host": HOST,
    "HostKey": HOST_KEY,
    "InstalledProgram": PROGRAM | {"fault": ""},
}
