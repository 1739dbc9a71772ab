"""What holds before and around a load, and is put back after it whatever happens.

A condition is a context manager that takes a `SetupContext`; a new one is a module here and a line in
`CONDITIONS`, in the order in which they are set up (they are taken back in the opposite order).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from benchmarks.models import Purpose, Run
from benchmarks.runs.setup.base import SetupContext
from benchmarks.runs.setup.engine_service import served
from benchmarks.runs.setup.idle_connections import held_idle
from benchmarks.runs.setup.provenance import recorded
from benchmarks.runs.setup.settings_profile import in_force
from benchmarks.runs.setup.vacuum_checkpoint import prepared
from benchmarks.runs.setup.warm_up import warmed
from benchmarks.targets.round_trip import pinged

CONDITIONS: tuple[Callable[[SetupContext], AbstractContextManager[None]], ...] = (
    pinged,
    in_force,
    held_idle,
    prepared,
    served,
    recorded,
    warmed,
)
OF_PARTS = (pinged, served)


@contextmanager
def held(around: SetupContext) -> Iterator[None]:
    """Every condition of a load, one inside the other; none of a dataset being prepared."""
    with ExitStack() as stack:
        for condition in _conditions_of(around.run):
            stack.enter_context(condition(around))
        yield


def _conditions_of(run: Run) -> Sequence[Callable[[SetupContext], AbstractContextManager[None]]]:
    """All of them; over several generators each part has those that are its own, and the whole holds the rest once."""
    if run.purpose != Purpose.LOAD:
        return ()
    if run.parent_id is not None:
        return OF_PARTS
    return [one for one in CONDITIONS if one not in OF_PARTS] if run.is_spread else CONDITIONS


def doubts(found: dict[str, Any]) -> list[str]:
    """Why the figures of a run are not to be relied on, from what its conditions noted."""
    reported: list[str] = [*found.get("settings_profile", {}).get("left", [])]
    idle = found.get("idle", {})
    if closed := idle.get("closed_by_others"):
        were = "was" if closed == 1 else "were"
        reported.append(
            f"{closed:,} of {idle['connections']:,} idle connections {were} closed by the server or the pooler before "
            "the load ended"
        )
    service = found.get("service", {})
    if service.get("exit_code") is not None:
        reported.append("the service that was loaded ended before the load did: what came after it only failed")
    if service.get("refused"):
        reported.append(
            f"the service's pool was refused connections, so it was smaller than asked for: {service['refused']}"
        )
    return reported
