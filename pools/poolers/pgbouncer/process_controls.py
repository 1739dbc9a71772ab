"""Console verbs on a pool of several PgBouncers that share a port: each of them gets each command."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from django.utils.translation import gettext as _

from pools.errors import ConsoleRefused, NotLive, PoolsError
from pools.models import Pooler
from pools.poolers.admin_commands import Blocker, Condition, Connections
from pools.poolers.pgbouncer.admin_commands import PgBouncerControls
from pools.poolers.pgbouncer.processes import Process
from pools.poolers.pool_queue import PoolClient

T = TypeVar("T")


class SharedControls:
    """See `pools.poolers.admin_commands.Controls`; a process that refuses does not keep the others from being asked."""

    def __init__(self, pooler: Pooler, found: Sequence[Process]) -> None:
        self.pooler = pooler
        self.each = {one.name: PgBouncerControls(pooler, one.console, one.again) for one in found}
        self.reached = tuple(self.each)

    def condition(self, name: str) -> Condition:
        """Read it of each: paused, or disabled, where any of them is."""
        found = self._of_each("SHOW DATABASES", lambda one: one.condition(name))
        paused = [process for process, one in found.items() if one.paused]
        disabled = [process for process, one in found.items() if one.disabled]
        texts = [
            _("%(name)s is paused in %(those)s alone") % {"name": name, "those": ", ".join(paused)},
            _("%(name)s is disabled in %(those)s alone") % {"name": name, "those": ", ".join(disabled)},
        ]
        partly = [
            text for text, held_back in zip(texts, (paused, disabled), strict=True) if 0 < len(held_back) < len(found)
        ]
        return Condition(paused=bool(paused), disabled=bool(disabled), differs="; ".join(partly))

    def pause(self, name: str, deadline_s: float) -> bool:
        """PAUSE all of them at the same time, each within the deadline."""
        return all(self._of_each("PAUSE", lambda one: one.pause(name, deadline_s)).values())

    def blockers(self, name: str) -> list[Blocker]:
        found = self._of_each("SHOW SERVERS", lambda one: one.blockers(name))
        return [replace(one, process=process) for process, of_one in found.items() for one in of_one]

    def resume(self, name: str) -> None:
        self._of_each("RESUME", lambda one: one.resume(name))

    def kill(self, name: str) -> None:
        self._of_each("KILL", lambda one: one.kill(name))

    def reconnect(self, name: str) -> None:
        self._of_each("RECONNECT", lambda one: one.reconnect(name))

    def disable(self, name: str) -> None:
        self._of_each("DISABLE", lambda one: one.disable(name))

    def enable(self, name: str) -> None:
        self._of_each("ENABLE", lambda one: one.enable(name))

    def connections(self, name: str) -> Connections:
        """Count those of all of them."""
        found = self._of_each("SHOW CLIENTS", lambda one: one.connections(name)).values()
        columns = ("clients", "servers", "outdated")
        return Connections(**{column: sum(getattr(one, column) for one in found) for column in columns})

    def clients(self, name: str) -> list[PoolClient]:
        found = self._of_each("SHOW CLIENTS", lambda one: one.clients(name)).values()
        return [client for of_one in found for client in of_one]

    def kill_client(self, client: PoolClient) -> bool:
        return any(self._of_each("KILL_CLIENT", lambda one: one.kill_client(client)).values())

    def _of_each(self, statement: str, ask: Callable[[PgBouncerControls], T]) -> dict[str, T]:
        """Ask all processes at once; raises `ConsoleRefused` with what each one that failed said."""
        with ThreadPoolExecutor(len(self.each), thread_name_prefix="process") as threads:
            futures = {process: threads.submit(ask, one) for process, one in self.each.items()}
        faults = {process: fault for process, one in futures.items() if (fault := one.exception())}
        for fault in faults.values():
            if not isinstance(fault, PoolsError) or (isinstance(fault, NotLive) and len(faults) == len(futures)):
                raise fault
        if faults:
            raise ConsoleRefused(self._partly(statement, faults))
        return {process: one.result() for process, one in futures.items()}

    def _partly(self, statement: str, faults: dict[str, BaseException]) -> str:
        text = _("%(statement)s reached %(reached)s of the processes that share the port, but not %(missed)s")
        missed = "; ".join(f"{process}: {fault}" for process, fault in faults.items())
        reached = ", ".join(one for one in self.each if one not in faults) or _("none")
        return text % {"statement": statement, "reached": reached, "missed": missed}
