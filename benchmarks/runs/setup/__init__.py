"""Set-up and tear-down steps around a load, as context managers; tear-down always runs.

A step takes a `SetupContext`; a new one is a module here and a line in `CONDITIONS`, in the order of set-up (tear-down
goes in the opposite order).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

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
    """Enter every set-up step of a load, one inside the other; none for a dataset being prepared."""
    with ExitStack() as stack:
        for condition in _conditions_of(around.run):
            stack.enter_context(condition(around))
        yield


def _conditions_of(run: Run) -> Sequence[Callable[[SetupContext], AbstractContextManager[None]]]:
    """Return the run's steps; of a distributed run, each part has its own ones, and the whole holds the rest once."""
    if run.purpose != Purpose.LOAD:
        return ()
    if run.parent_id is not None:
        return OF_PARTS
    return [one for one in CONDITIONS if one not in OF_PARTS] if run.is_spread else CONDITIONS


def doubts(found: dict[str, Any]) -> list[str]:
    """Return why the figures of a run are unreliable, from what its set-up steps noted."""
    reported: list[str] = [*found.get("settings_profile", {}).get("left", [])]
    idle = found.get("idle", {})
    if closed := idle.get("closed_by_others"):
        text = ngettext(
            "%(closed)s of %(all)s idle connections was closed by the server or the pooler before the load ended",
            "%(closed)s of %(all)s idle connections were closed by the server or the pooler before the load ended",
            closed,
        )
        reported.append(text % {"closed": f"{closed:,}", "all": f"{idle['connections']:,}"})
    service = found.get("service", {})
    if service.get("exit_code") is not None:
        reported.append(_("the service that was loaded ended before the load did: what came after it only failed"))
    if service.get("refused"):
        reported.append(
            _("the service's pool was refused connections, so it was smaller than asked for: %(refused)s")
            % {"refused": service["refused"]}
        )
    return reported
