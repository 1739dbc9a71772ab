"""Tries settings that need a restart before the server is touched, where the server runs on this host.

`postgres --check`, with which initdb finds what a host can carry, takes the shared memory that the settings ask for and
ends; `postgres -C` alone would only read them. It runs in a folder of its own, beside the running server. What a start
checks beyond that is in `start_rules`.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
from django.utils.translation import gettext as _

from pools.clusters import connect, process_memory
from pools.poolers import local_process, program_trust

WITHIN_S = 30
FOLDERS = (
    *("global", "base/1", "pg_wal/archive_status", "pg_wal/summaries", "pg_commit_ts", "pg_dynshmem", "pg_notify"),
    *("pg_serial", "pg_snapshots", "pg_subtrans", "pg_twophase", "pg_multixact/members", "pg_multixact/offsets"),
    *("pg_replslot", "pg_tblspc", "pg_stat", "pg_stat_tmp", "pg_xact", "pg_logical/snapshots", "pg_logical/mappings"),
)
CHECK_SINCE = 150_000  # --check; before it, the same was an option of the bootstrap mode
# The current values that decide whether the server can start.
_NOW = """
    SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('shared_buffers', 'huge_pages', 'huge_page_size',
           'max_connections', 'max_worker_processes', 'max_prepared_transactions', 'max_locks_per_transaction',
           'max_pred_locks_per_transaction', 'max_wal_senders', 'wal_level', 'wal_buffers', 'autovacuum_max_workers',
           'superuser_reserved_connections', 'reserved_connections', 'shared_memory_type', 'io_method',
           'max_files_per_process', 'max_replication_slots')
"""
_OF_SESSION = "SELECT nullif(client_port, -1) FROM pg_stat_activity WHERE pid = pg_backend_pid()"


def problem(connection: connect.Connection, values: Mapping[str, str]) -> str:
    """Return the server program's own words why it would not start with these values; empty where it would.

    Empty too where it can't be tried: the server runs elsewhere, or its pages of memory are all taken by itself.
    """
    now: dict[str, str] = dict(connection.execute(_NOW).fetchall())
    program = _program(connection)
    if program is None or _why_not(connection, now):
        return ""
    major = connection.info.server_version // 10_000
    try:
        # this folder lacks something of this release, or the memory is all taken
        if _start_error(*program, now, major):
            return ""
        return _start_error(*program, {**now, **values}, major)
    except (OSError, subprocess.SubprocessError):
        return ""


def why_untried(connection: connect.Connection) -> str:
    """Return why the settings can't be tried before a restart; empty where they can."""
    if _program(connection) is None:
        return _("the server runs on another host, or its program can't be started by this account")
    return _why_not(connection, dict(connection.execute(_NOW).fetchall()))


def _why_not(connection: connect.Connection, now: Mapping[str, str]) -> str:
    if connection.info.server_version < CHECK_SINCE:
        return _("PostgreSQL can do so since release 15")
    return _("huge_pages is on, and the running server has them") if now.get("huge_pages") == "on" else ""


def _program(connection: connect.Connection) -> tuple[Path, os.stat_result] | None:
    """Return the server's program and the owner of its data, where it runs here and nobody else could replace it."""
    row = connection.execute(_OF_SESSION).fetchone()
    info, port = connection.info, row[0] if row else None
    if not process_memory.is_here(process_memory.Session(info.backend_pid, info.user, info.dbname, port)):
        return None
    with suppress(psutil.Error, OSError):
        process = psutil.Process(info.backend_pid)
        owner = Path(process.cwd()).stat()  # a server's processes work in its data folder
        file, open_to_others = program_trust.checked(process.exe(), program_trust.account_of(process.cwd()))
        if open_to_others is None:
            return file, owner
    return None


def _lay_out(folder: Path, owner: os.stat_result, major: int) -> None:
    """Make what a data folder has before there is any data, as initdb does before its own check."""
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
    for name, text in (("PG_VERSION", f"{major}\n"), ("postgresql.conf", ""), ("postgresql.auto.conf", "")):
        (folder / name).write_text(text)
    if os.geteuid() == program_trust.ROOT:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)


def _start_error(program: Path, owner: os.stat_result, values: Mapping[str, str], major: int) -> str:
    with tempfile.TemporaryDirectory(prefix="pooldeck-dry-start-") as name:
        folder = Path(name)
        _lay_out(folder, owner, major)
        settings = [word for key, value in values.items() for word in ("-c", f"{key}={value}")]
        argv = [*local_process.as_owner(owner), str(program), "--check", "-D", name, *settings]
        done = local_process.run(argv, folder, WITHIN_S)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "FATAL" in line or "HINT" in line] or [done.stderr[-300:]]
    return " ".join(lines).strip() or _("it ended with exit code %(code)d") % {"code": done.returncode}
