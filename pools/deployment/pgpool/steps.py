"""The steps of Pgpool-II's take-over and release."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from pools.deployment import diff
from pools.deployment.marked_steps import MarkedSteps
from pools.deployment.pgpool import take_over_plan
from pools.deployment.pgpool.take_over import PgpoolRun
from pools.deployment.pgpool.take_over_plan import PgpoolPlan
from pools.deployment.take_over_steps import Changed
from pools.models import Pooler, TakeOver
from pools.poolers import KINDS
from pools.poolers.pgpool import pcp, render, take_over


class PgpoolSteps(MarkedSteps):
    """Those of the kind `pgpool`."""

    mark = render.MARK

    def planned(
        self, pooler: Pooler, config_file: str, names: Collection[str] | None = None
    ) -> AbstractContextManager[PgpoolPlan]:
        return take_over_plan.planned(pooler, config_file, names)

    def run_of(self, asked: TakeOver, plan: PgpoolPlan) -> PgpoolRun:
        return PgpoolRun(asked, plan, self.restore)

    @contextmanager
    def reloading(self, pooler: Pooler) -> Iterator[Callable[[], None]]:
        """Try the login to its control port first."""
        pcp.log_in(pooler)
        yield partial(take_over.reload, pooler)

    def before_release(self, taken: TakeOver, files: Changed) -> Mapping[str, bytes | None]:
        """Return pgpool.conf with the settings of the panel's part as they are where nobody sets them."""
        now, after = files.get(taken.config_file, (None, None))
        kept = (after or b"").decode(errors="surrogateescape")
        version = KINDS[taken.pooler.kind].version_of(taken.pooler.server_version)
        values = take_over.undone((now or b"").decode(errors="surrogateescape"), kept, version)
        if not values:
            return {}
        text = render.file(kept, render.restoring_settings(values))
        return {taken.config_file: text.encode(errors="surrogateescape")}

    def masked_for(self, pooler: Pooler, texts: diff.Texts) -> Mapping[str, str]:
        return take_over_plan.masked_by(pooler)(texts)


STEPS = PgpoolSteps()
