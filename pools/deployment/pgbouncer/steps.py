"""The steps of PgBouncer's take-over and release."""

from pools.deployment.pgbouncer import let_go, take_over, take_over_plan
from pools.deployment.take_over_steps import TakeOverSteps


class PgBouncerSteps(TakeOverSteps):
    """Those of the kind `pgbouncer`; see `pools.deployment.take_over_steps`."""

    planned = staticmethod(take_over_plan.planned)
    request = staticmethod(take_over.request)
    queue = staticmethod(take_over.queue)
    resume = staticmethod(take_over.resume)
    preview_release = staticmethod(let_go.preview)
    request_release = staticmethod(let_go.request)
    resume_release = staticmethod(let_go.resume)


STEPS = PgBouncerSteps()
