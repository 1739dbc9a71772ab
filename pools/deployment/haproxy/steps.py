"""The steps of HAProxy's take-over and release."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from pools.deployment import diff
from pools.deployment.haproxy import take_over_plan
from pools.deployment.haproxy.take_over import HAProxyRun
from pools.deployment.haproxy.take_over_plan import HAProxyPlan
from pools.deployment.marked_steps import MarkedSteps
from pools.models import Pooler, TakeOver
from pools.poolers.haproxy import master_process, render


class HAProxySteps(MarkedSteps):
    """Those of the kind `haproxy`."""

    mark = render.MARK

    def planned(
        self, pooler: Pooler, config_file: str, names: Collection[str] | None = None
    ) -> AbstractContextManager[HAProxyPlan]:
        return take_over_plan.planned(pooler, config_file, names)

    def run_of(self, asked: TakeOver, plan: HAProxyPlan) -> HAProxyRun:
        return HAProxyRun(asked, plan, self.restore)

    @contextmanager
    def reloading(self, pooler: Pooler) -> Iterator[Callable[[], None]]:
        """Find its master process first."""
        master_process.find(pooler)
        yield partial(master_process.replace_worker, pooler)

    def masked_for(self, pooler: Pooler, texts: diff.Texts) -> Mapping[str, str]:
        return render.masked_all(texts)


STEPS = HAProxySteps()
