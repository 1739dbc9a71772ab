"""Set-up and tear-down steps around a load, as context managers; tear-down always runs.

`guard` refuses what a run may not have before it is queued. A step takes a `SetupContext`; a new one is a module here
and a line in `CONDITIONS`, in the order of set-up (tear-down goes in the opposite order).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.errors import InvalidOptions
from benchmarks.models import Purpose, Run
from benchmarks.models.conditions import RunConditions
from benchmarks.models.options import RunOptions
from benchmarks.runs.setup import settings_profile, vacuum_checkpoint
from benchmarks.runs.setup.base import SetupContext
from benchmarks.runs.setup.engine_service import served
from benchmarks.runs.setup.idle_connections import with_idle_connections
from benchmarks.runs.setup.options import CLUSTER
from benchmarks.runs.setup.provenance import recorded
from benchmarks.runs.setup.warm_up import with_warm_up
from benchmarks.targets.resolve import OpenSession, Target
from benchmarks.targets.round_trip import pinged
from core.accounts.access import Access

CONDITIONS: tuple[Callable[[SetupContext], AbstractContextManager[None]], ...] = (
    pinged,
    settings_profile.in_force,
    with_idle_connections,
    vacuum_checkpoint.prepared,
    served,
    recorded,
    with_warm_up,
)
OF_PARTS = (pinged, served)
NEED_CLUSTER = ("checkpoint", "vacuum", "settings_profile")


def guard(
    target: Target,
    options: RunOptions,
    confirm: str,
    session: OpenSession,
    *,
    is_admin: bool,
    access: Access | None = None,
) -> None:
    """Refuse what no server would take, or a protected one must not be given; raise `InvalidOptions` and `Refused`.

    The cluster is queried for a profile or a checkpoint only, the latter by this session of the panel's admin.
    """
    if target.cluster is None:
        return _refuse_without_cluster(target, options)
    if options.get("checkpoint") and (why_not := vacuum_checkpoint.why_no_checkpoint(target.cluster, session())):
        raise InvalidOptions({"checkpoint": [why_not]})
    if name := options.get("settings_profile"):
        settings_profile.guard(target, target.cluster, name, confirm, is_admin=is_admin, access=access)


def _refuse_without_cluster(target: Target, options: RunOptions) -> None:
    """Refuse what the panel does on the server itself, where the server is not registered."""
    refused: list[str] = [name for name in NEED_CLUSTER if options.get(name)]
    refused += ["idle_at"] if options.get("idle_connections") and options.get("idle_at") == CLUSTER else []
    if refused:
        message = _("no cluster is registered behind %(place)s: register it and name it there, or leave this out") % {
            "place": target.place
        }
        raise InvalidOptions({name: [message] for name in refused})


@contextmanager
def steps(context: SetupContext) -> Iterator[None]:
    """Enter every set-up step of a load, one inside the other; none for a dataset being prepared."""
    with ExitStack() as stack:
        for condition in _conditions_of(context.run):
            stack.enter_context(condition(context))
        yield


def _conditions_of(run: Run) -> Sequence[Callable[[SetupContext], AbstractContextManager[None]]]:
    """Return the run's steps; of a distributed run, each part has its own ones, and the whole holds the rest once."""
    if run.purpose != Purpose.LOAD:
        return ()
    if run.parent_id is not None:
        return OF_PARTS
    return [one for one in CONDITIONS if one not in OF_PARTS] if run.is_spread else CONDITIONS


def unreliable_because(noted: RunConditions) -> list[str]:
    """Return why the figures of a run are unreliable, from what its set-up steps noted."""
    reasons = [*noted.get("settings_profile", {}).get("left", [])]
    idle = noted.get("idle", {})
    if closed := idle.get("closed_by_others"):
        text = ngettext(
            "%(closed)s of %(all)s idle connections was closed by the server or the pooler before the load ended",
            "%(closed)s of %(all)s idle connections were closed by the server or the pooler before the load ended",
            closed,
        )
        reasons.append(text % {"closed": f"{closed:,}", "all": f"{idle['connections']:,}"})
    service = noted.get("service", {})
    if service.get("exit_code") is not None:
        reasons.append(_("the service that was loaded ended before the load did: what came after it only failed"))
    if service.get("refused"):
        reasons.append(
            _("the service's pool was refused connections, so it was smaller than asked for: %(refused)s")
            % {"refused": service["refused"]}
        )
    return reasons
