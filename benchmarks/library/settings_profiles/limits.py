"""How far settings of tuning may go for somebody who is no admin: never so far that the server stays down; pure.

PostgreSQL does not start where its shared memory can't be had (shared_buffers, huge_pages, the number of slots), and a
standby stops where it has fewer slots than its primary (manual, "Hot Standby": max_connections and its like).
"""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.library.settings_profiles.guc_values import ServerSetting, in_words
from pools.clusters.memory_budget import GB, KB, MB

CHOICES = {"huge_pages": ("off", "try"), "huge_page_size": ("0",), "io_method": ("sync", "worker")}
# fewer of them may lock clients out, and more stop a standby
SLOTS = (
    *("max_connections", "max_worker_processes", "max_prepared_transactions", "max_locks_per_transaction"),
    "max_pred_locks_per_transaction",
)
MOST = dict.fromkeys(SLOTS, 10_000) | {
    "max_locks_per_transaction": 1_024,
    "max_pred_locks_per_transaction": 1_024,
    "autovacuum_max_workers": 100,
    "autovacuum_worker_slots": 262_143,
    "io_max_concurrency": 1_024,
}
MOST_BYTES = {"max_wal_size": 64 * GB, "min_wal_size": 64 * GB, "wal_buffers": GB}
SHARES = {
    "shared_buffers": 0.4,
    **dict.fromkeys(("work_mem", "temp_buffers", "maintenance_work_mem", "autovacuum_work_mem"), 0.25),
}
WITHOUT_MEMORY = 2 * GB  # taken for the server's memory where that is not known
UNITS = {"8kB": 8 * KB, "kB": KB, "MB": MB, "B": 1}


@dataclass(frozen=True)
class Server:
    """The facts that limits depend on: the server's memory in bytes (None: unknown), and whether standbys follow it."""

    memory: int | None = None
    has_standbys: bool = False


def beyond(known: ServerSetting, normal: str, server: Server) -> str:
    """Return why only an admin may have this value put in force; empty where anybody who may run may.

    `normal` is the value as pg_settings would show it. What the server has already is never refused.
    """
    if normal == known.setting:
        return ""
    if choices := CHOICES.get(known.name):
        return "" if normal in choices else only(known.name, " / ".join(choices))
    if known.name in SLOTS:
        return _beyond_slots(known, int(normal), server)
    most = _most(known, server)
    if most is None or int(normal) <= max(most, int(known.setting)):
        return ""
    return only(known.name, in_words(str(most), known.unit))


def _beyond_slots(known: ServerSetting, normal: int, server: Server) -> str:
    if server.has_standbys:
        return _(
            "%(name)s: standbys follow this server, and stop while they have fewer than it: this asks for the scope "
            "admin"
        ) % {"name": known.name}
    least, most = int(known.setting), max(MOST[known.name], int(known.setting))
    return "" if least <= normal <= most else only(known.name, f"{least}…{most}")


def _most(known: ServerSetting, server: Server) -> int | None:
    """Return the most of it in the setting's own unit; None where every value that the server takes will do."""
    if known.name in MOST:
        return MOST[known.name]
    size = MOST_BYTES.get(known.name)
    if share := SHARES.get(known.name):
        size = int((server.memory or WITHOUT_MEMORY) * share)
    return None if size is None else size // UNITS[known.unit]


def only(name: str, allowed: str) -> str:
    """Return the sentence that names what is allowed without the scope admin."""
    return _("%(name)s: without the scope admin, use %(allowed)s: another value may keep the server from starting") % {
        "name": name,
        "allowed": allowed,
    }
