"""Settings that a profile may hold: those of tuning for all who may run, most others for admins, a few for nobody."""

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

# These would lock the panel out, make the server run programs or libraries, or move its files.
FORBIDDEN_PARTS = (
    *("_command", "_library", "_libraries", "_directory", "_file", "_path", "ssl_", "krb_", "unix_socket"),
    "jit_provider",
)
SPOILING = frozenset(
    {"zero_damaged_pages", "ignore_checksum_failure", "ignore_invalid_pages", "allow_system_table_mods"}
)
FORBIDDEN = frozenset({"listen_addresses", "port", "ssl", "password_encryption", "primary_conninfo", "search_path"})
# PostgreSQL's manual, chapter "Server Configuration": memory, disk, workers, WAL's pace, the planner, autovacuum. No
# time-outs: a statement_timeout of 1 ms ends the work of every client of the cluster.
_TUNING = re.compile(
    r"""
    shared_buffers | huge_pages | huge_page_size | temp_buffers | work_mem | hash_mem_multiplier | maintenance_work_mem
    | (effective|maintenance)_io_concurrency | io_(method|workers|combine_limit|max_combine_limit|max_concurrency)
    | backend_flush_after | bgwriter_\w+ | max_(worker_processes|parallel_\w+) | parallel_\w+ | min_parallel_\w+
    | checkpoint_(timeout|completion_target|flush_after) | (max|min)_wal_size | wal_buffers | wal_writer_\w+
    | wal_compression | wal_recycle | wal_init_zero | wal_sync_method | commit_(delay|siblings) | synchronous_commit
    | (random|seq)_page_cost | cpu_\w+_cost | effective_cache_size | jit | jit_\w*cost | enable_\w+ | geqo(_\w+)?
    | default_statistics_target | constraint_exclusion | cursor_tuple_fraction | (from|join)_collapse_limit
    | plan_cache_mode | recursive_worktable_factor | max_connections | max_prepared_transactions
    | max_(pred_)?locks_per_\w+
    | autovacuum(_\w+)? | vacuum_\w+ | track_(activities|counts|functions|io_timing|wal_io_timing|cost_delay_timing)
    | compute_query_id | default_toast_compression | max_files_per_process | synchronize_seqscans
    """,
    re.VERBOSE,
)
_DANGEROUS = {
    ("synchronous_commit", "off"): gettext_lazy(
        "the last commits before a crash may be lost; it measures a server that may forget"
    ),
    ("synchronous_commit", "local"): gettext_lazy(
        "commits no longer wait for standbys: a failover may lose the last of them"
    ),
    ("fsync", "off"): gettext_lazy("a crash of the host may destroy the whole cluster: never where data matters"),
    ("full_page_writes", "off"): gettext_lazy("a crash of the host may leave torn pages, and so destroy data"),
    ("autovacuum", "off"): gettext_lazy("dead rows stay, tables grow and statistics age while it is off"),
    ("default_transaction_read_only", "on"): gettext_lazy("every session of the cluster can only read while it is on"),
    ("row_security", "off"): gettext_lazy("queries that a row policy would filter fail instead"),
    ("log_statement", "all"): gettext_lazy(
        "every statement is written to the server's log, passwords and all, and slows the run"
    ),
}
_DANGEROUS_WHATEVER = {
    "session_replication_role": gettext_lazy(
        "as replica, no trigger fires and no foreign key is checked, so rows that violate one stay"
    ),
    "synchronous_standby_names": gettext_lazy(
        "every commit of the cluster waits forever while a listed standby is missing"
    ),
    "wal_level": gettext_lazy("standbys, archives and logical replication may need what a lower level leaves out"),
    "max_replication_slots": gettext_lazy("with fewer slots than there are, the server does not start"),
    "superuser_reserved_connections": gettext_lazy(
        "with fewer, no admin may be able to log in once all connections are taken"
    ),
    "restart_after_crash": gettext_lazy("when off, the server stays down after a crash of one of its processes"),
    "data_sync_retry": gettext_lazy("when on, a failed write to disk may be taken for done"),
    "ignore_system_indexes": gettext_lazy("when on, every lookup in the catalogs reads them whole"),
    "event_triggers": gettext_lazy("when off, what they guard is not guarded"),
}


def why_forbidden(name: str) -> str:
    """Return why no profile may hold it; empty where it may."""
    if name in FORBIDDEN or any(part in name for part in FORBIDDEN_PARTS):
        return _(
            "%(name)s could lock the panel out, or make the server read or run what it should not: leave it out"
        ) % {"name": name}
    if name in SPOILING:
        return _("%(name)s is for repairing a broken cluster, and can damage a healthy one: leave it out") % {
            "name": name
        }
    return ""


def warning(name: str, value: str) -> str:
    """Return the danger of this value; empty where none is known."""
    found = _DANGEROUS.get((name, value)) or _DANGEROUS_WHATEVER.get(name)
    return str(found) if found else ""


def for_admins(names: Iterable[str]) -> list[str]:
    """Return the settings that are more than tuning, since they affect the whole cluster or its data."""
    return [name for name in names if not _TUNING.fullmatch(name)]
