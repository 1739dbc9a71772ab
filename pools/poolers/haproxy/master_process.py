"""The master process of an HAProxy: on SIGUSR2 it starts a new worker, while the old one serves its sessions."""

import os
import signal
import time
from contextlib import suppress

import psutil
from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.hosts import processes
from pools.models import Pooler
from pools.poolers.faults import Rejected
from pools.poolers.haproxy import stats_socket
from pools.poolers.haproxy.operators_config import PROGRAM

LIVE_WITHIN_S = 10
POLL_S = 0.1


def find(pooler: Pooler) -> int:
    """Return the process that starts workers. Raises `Rejected` without one, or if it runs on another host."""
    worker = int(stats_socket.info(pooler).get("Pid", 0))
    parents = _parents(pooler, worker)
    if worker not in parents:
        raise Rejected(
            _("the process %(worker)s of pooler %(pooler)s is not on its host, so it can't be reloaded")
            % {"worker": worker, "pooler": pooler}
        )
    master = parents[worker]
    if master not in parents:
        raise Rejected(
            _(
                "pooler %(pooler)s runs without a master process, so a reload would drop its sessions: start "
                "HAProxy in master-worker mode (-W, or -Ws under systemd, as Debian does)"
            )
            % {"pooler": pooler}
        )
    return master


def reload(pooler: Pooler) -> None:
    """Have the master start a new worker. Raises `Rejected`."""
    master = find(pooler)
    if fault := _signal(pooler, master):
        params = {"master": master, "pooler": pooler, "error": fault}
        raise Rejected(_("the master process %(master)s of %(pooler)s can't be reloaded: %(error)s") % params)


def replace_worker(pooler: Pooler) -> None:
    """Have the master start a new worker, and wait until it answers. Raises `Rejected`, `PoolerUnreachable`."""
    before, deadline = stats_socket.info(pooler).get("Pid"), time.monotonic() + LIVE_WITHIN_S
    reload(pooler)
    while stats_socket.info(pooler).get("Pid") == before:
        if time.monotonic() > deadline:
            text = _(
                "%(seconds)d s after the reload, no new worker answers: see HAProxy's log for why it did not start"
            )
            raise Rejected(text % {"seconds": LIVE_WITHIN_S}, settings=True)
        time.sleep(POLL_S)


def _parents(pooler: Pooler, worker: int) -> dict[int, int]:
    """Return process → parent of the worker and of its master, as far as they are HAProxys of its host."""
    delivery = deliveries.of(pooler)
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            found = processes.of_programs(host, [PROGRAM]) if host else []
        return {one.pid: one.parent for one in found}
    parents = {}
    with suppress(psutil.Error):
        process = psutil.Process(worker)
        for one in (process, process.parent()):
            if one and one.name().startswith(PROGRAM):
                parents[one.pid] = one.ppid()
    return parents


def _signal(pooler: Pooler, master: int) -> str:
    """Have the master start a new worker; return why that can't be asked for, empty where it was."""
    delivery = deliveries.of(pooler)
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            done = host.run(["sh", "-c", 'kill -USR2 "$1"', "sh", str(master)]) if host else None
        return done.words if done and done.exit_code else ""
    try:
        os.kill(master, signal.SIGUSR2)
    except (PermissionError, ProcessLookupError) as error:
        return str(error)
    return ""
