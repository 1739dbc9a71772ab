"""The share of its one core that a PgBouncer uses and waits for, between two readings of `core_times`."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.errors import PoolsError
from pools.models import Pooler
from pools.poolers import core_times, host_processes
from pools.poolers.core_times import Times
from pools.poolers.pool_queue import CoreUse

PROGRAM = "pgbouncer"
SHORTEST_S = 0.4
Reading = Mapping[int, Times]


class CoreWatch:
    """Two readings of the processes of a pooler: the first when it is made, the second by `use`."""

    def __init__(self, pooler: Pooler, pids: Sequence[int | None]) -> None:
        self.pooler, self.pids = pooler, [pid for pid in pids if pid is not None]
        self.began, self.before = time.monotonic(), self._read()

    def use(self) -> tuple[CoreUse | None, str]:
        """Return the use of the busiest process, or None and a sentence that says why it is unknown."""
        if not self.before:
            return None, _("the pooler's process can't be seen from the panel, so the use of its core is unknown")
        time.sleep(max(0.0, SHORTEST_S - (time.monotonic() - self.began)))
        elapsed_ns, after = (time.monotonic() - self.began) * 1e9, self._read()
        uses = [core_times.between(first, after[pid], elapsed_ns) for pid, first in self.before.items() if pid in after]
        if not uses:
            return None, _("the pooler's process ended while it was looked at")
        return max(uses, key=lambda use: use.wanted), ""

    def _read(self) -> Reading:
        delivery = deliveries.of(self.pooler)
        if delivery.needs_host:
            with suppress(PoolsError):
                return self._read_there()
            return {}
        return {pid: times for pid in self.pids if (times := core_times.of_process(pid))}

    def _read_there(self) -> Reading:
        with deliveries.of(self.pooler).connected(self.pooler) as host:
            if host is None:
                return {}
            if not self.pids:
                self.pids = [one.pid for one in host_processes.of(self.pooler, host, PROGRAM)]
            texts = {pid: host.run(["cat", f"/proc/{pid}/schedstat"]).stdout.decode() for pid in self.pids}
        return {pid: times for pid, text in texts.items() if (times := core_times.parsed(text))}
