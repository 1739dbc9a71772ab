"""Take-overs and releases of running poolers, each by the steps of its kind."""

from collections.abc import Collection
from importlib import import_module

from django.contrib.auth.models import User

from pools.approvals.acts import LET_GO, TAKE_OVER
from pools.approvals.holding import held_back, hold
from pools.deployment import let_go
from pools.deployment.take_over_plans import Release
from pools.deployment.take_over_steps import TakeOverSteps, active_take_over
from pools.errors import IllegalTransition
from pools.models import Pooler, TakeOver
from pools.poolers import driver, kinds_that

STEPS: dict[str, TakeOverSteps] = {
    kind: import_module(f"pools.deployment.{kind}.steps").STEPS for kind in kinds_that("can_be_taken_over")
}


def steps_of(pooler: Pooler) -> TakeOverSteps:
    """Return the steps of a pooler's kind. Raises `IllegalTransition` for a kind that can't be taken over."""
    if obstacle := driver(pooler).take_over_obstacle(pooler):
        raise IllegalTransition(obstacle)
    return STEPS[pooler.kind]


def resume(pooler: Pooler) -> None:
    """Carry on with a take-over or a release that waits, or that a dead worker left behind; no-op without one."""
    if steps := STEPS.get(pooler.kind):
        steps.resume(pooler)
        let_go.resume(steps, pooler)


@held_back(TAKE_OVER)
def request(
    pooler: Pooler, config_file: str = "", names: Collection[str] | None = None, author: User | None = None
) -> TakeOver:
    """Queue a take-over that has nothing against it. Raises `IllegalTransition`, `PoolerUnreachable`."""
    return steps_of(pooler).request(pooler, config_file, names, author)


def queue(pooler: Pooler, config_file: str, names: Collection[str] | None, author: User | None = None) -> TakeOver:
    """Queue one that was previewed; a worker plans it again."""
    hold(TAKE_OVER, {"pooler": pooler, "config_file": config_file, "names": names, "author": author})
    return steps_of(pooler).queue(pooler, config_file, names, author)


def preview_release(pooler: Pooler) -> Release:
    """Return what letting go would do; raises `IllegalTransition` for a pooler that was not taken over."""
    return let_go.preview(STEPS[active_take_over(pooler).pooler.kind], pooler)


@held_back(LET_GO)
def request_release(pooler: Pooler, author: User | None = None) -> TakeOver:
    """Queue the release. Raises `IllegalTransition` with what has to be done before."""
    return let_go.request(STEPS[active_take_over(pooler).pooler.kind], pooler, author)
