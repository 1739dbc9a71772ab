"""A console that answers as told, for the panel's own side; real ones are in tests/live/pools/console."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pools.poolers.admin_commands import Blocker, Condition, Connections
from pools.poolers.pool_queue import PoolClient

BLOCKER = Blocker("app", "batch", "10.0.0.9:4711", "active", "2026-11-20 14:00:00 UTC", "2026-11-20 14:01:00 UTC", 4242)
CLIENT = PoolClient(
    "orders", "app", "batch", "10.0.0.9:4711", "active", 0.0, "17", "2026-11-20 14:00:00 UTC", server_pid=4242
)


@dataclass
class FakeControls:
    """See `pools.poolers.admin_commands.Controls`; `done` are the verbs in order."""

    paused: bool = False
    disabled: bool = False
    busy: bool = False
    deaf: bool = False  # takes commands and does nothing
    done: list[str] = field(default_factory=list)
    reached: tuple[str, ...] = ()
    client: PoolClient = CLIENT

    def condition(self, name: str) -> Condition:
        return Condition(self.paused, self.disabled)

    def pause(self, name: str, deadline_s: float) -> bool:
        self._do("pause", paused=True)
        return not self.busy

    def blockers(self, name: str) -> list[Blocker]:
        return [BLOCKER]

    def resume(self, name: str) -> None:
        self._do("resume", paused=False)

    def kill(self, name: str) -> None:
        self._do("kill", paused=True)

    def reconnect(self, name: str) -> None:
        self._do("reconnect")

    def disable(self, name: str) -> None:
        self._do("disable", disabled=True)

    def enable(self, name: str) -> None:
        self._do("enable", disabled=False)

    def connections(self, name: str) -> Connections:
        return Connections(clients=2, servers=1)

    def clients(self, name: str) -> list[PoolClient]:
        return [] if "kill_client" in self.done and not self.deaf else [self.client]

    def kill_client(self, client: PoolClient) -> bool:
        self._do("kill_client")
        return True

    def _do(self, verb: str, **state: bool) -> None:
        self.done.append(verb)
        for name, value in state.items() if not self.deaf else ():
            setattr(self, name, value)

    @contextmanager
    def opened(self, *_: object) -> Iterator["FakeControls"]:
        """In place of a kind's `controls`."""
        yield self
