"""Starts the further processes of a PgBouncer by the template unit on its host, where that is allowed."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.errors import PoolsError
from pools.hosts import units
from pools.models import Pooler
from pools.poolers.pgbouncer.sharing import Sharing
from pools.poolers.session import Progress


def start(pooler: Pooler, asked: Sharing, running: Collection[int], progress: Progress) -> None:
    """Start those that are asked for and don't run; a step says which, or why they have to be started by hand."""
    missing = [number for number in range(2, asked.count + 1) if number not in running]
    if not missing:
        return
    mains = {asked.unit_of(number): asked.main_there(number) for number in missing}
    named = ", ".join(mains)
    if asked.config.get("so_reuseport") != "1":
        text = _("%(units)s can't listen on the port yet: the process that runs was started without so_reuseport")
        progress.step("processes awaited", text % {"units": named})
        return
    try:
        with deliveries.of(pooler).connected(pooler) as host:
            if host:
                units.start(host, mains)
    except PoolsError as why:
        text = _("%(units)s have to be started by hand: %(why)s")
        progress.step("processes awaited", text % {"units": named, "why": why})
    else:
        progress.step("processes started", named)
