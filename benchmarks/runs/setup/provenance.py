"""Provenance of a run's figures, stored with them: the server's settings, the pooler's revision, the machines."""

import logging
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import psycopg

from benchmarks.models import ExternalEndpoint, Run
from benchmarks.models.evidence import (
    MachineEvidence,
    PoolerEvidence,
    RunEvidence,
    ServerEvidence,
    SettingInForce,
    StatedMachine,
)
from benchmarks.runs.setup.base import SetupContext
from pools.clusters import connect
from pools.clusters.process_memory import memory_of_host
from pools.errors import PoolsError
from pools.models import Revision

log = logging.getLogger(__name__)

_CHANGED = """
    SELECT name, setting, coalesce(unit, ''), source FROM pg_settings
     WHERE setting IS DISTINCT FROM boot_val AND source NOT IN ('default', 'client', 'session') ORDER BY name
"""
# A setting that may hold or lead to a password is stored only as set, without its value.
_SECRET = re.compile(r"passw|conninfo|passphrase|secret|_command$|key")


@contextmanager
def recorded(context: SetupContext) -> Iterator[None]:
    """Store it in the run's `evidence`, once all other conditions hold."""
    evidence = evidence_of(context.run)
    if not context.is_here:
        evidence["generator"] = cast("MachineEvidence", context.place.facts())
    context.recorder.state(evidence=evidence)
    yield


def evidence_of(run: Run) -> RunEvidence:
    """Return `server`, `pooler` (of a pooled run) and `generator`; what can't be read is logged and left out."""
    evidence: RunEvidence = {"generator": of_this_host()}
    try:
        evidence["server"] = of_server(run)
    except (PoolsError, psycopg.Error) as error:
        log.warning("run %s: its server's settings can't be read: %s", run.pk, error)
    if run.pool is not None:
        evidence["pooler"] = of_pooler(run)
    elif run.external is not None:
        evidence["pooler"] = of_external(run.external)
    return evidence


def of_server(run: Run) -> ServerEvidence:
    """Return `version`, the `settings` that differ from PostgreSQL's defaults, and the machine as registered."""
    if run.cluster is None:
        return {}
    cluster = run.cluster
    with connect.connect(cluster, database=run.database, application_name="pooldeck-conditions") as connection:
        version = connection.execute("SELECT version()").fetchone()
        rows = connection.execute(_CHANGED).fetchall()
    settings: dict[str, SettingInForce] = {
        name: {"value": _shown(name, value), "unit": unit, "source": source} for name, value, unit, source in rows
    }
    machine: StatedMachine = {"memory_mb": cluster.memory_mb, "vcpus": cluster.vcpus, "disk_gb": cluster.disk_gb}
    return {"version": version[0] if version else "", "settings": settings, "stated": machine}


def of_pooler(run: Run) -> PoolerEvidence:
    """Return kind and version of the pooler, the pool's settings, and the live revision."""
    pool = run.pool
    if pool is None:
        return {}
    revision = Revision.objects.filter(pooler=pool.pooler).applied().first()
    return {
        "name": pool.pooler.name,
        "kind": pool.pooler.kind,
        "version": pool.pooler.server_version,
        "pool": {"name": pool.name, "mode": pool.mode, "size": pool.size, "settings": pool.settings},
        "revision": {"id": str(revision.pk), "number": revision.number} if revision else None,
    }


def of_external(external: ExternalEndpoint) -> PoolerEvidence:
    """Return the facts of an external endpoint: its address, TLS mode, and the pooler named for it."""
    known: PoolerEvidence = {
        "name": external.name,
        "kind": external.pooled_by,
        "address": external.endpoint.address,
        "sslmode": external.sslmode,
    }
    return cast("PoolerEvidence", {**known, **external.parameters})


def of_this_host() -> MachineEvidence:
    """Return the machine that ran the load: host, kernel, processor, cores, and memory in bytes."""
    return {
        "host": platform.node(),
        "kernel": platform.release(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": memory_of_host(),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.machine()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def _shown(name: str, value: str) -> str:
    return "(set)" if _SECRET.search(name) and value else value
