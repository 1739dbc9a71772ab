"""The request that starts a saved run once more, with its configuration."""

import uuid

from django.contrib.auth.models import User

from benchmarks.models import Run
from benchmarks.runs.submission.submit import Placement, RunRequest
from benchmarks.targets.resolve import RequestedTarget
from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.permissions import user_holds


def request_of(old: Run, author: User, access: Access, run_id: uuid.UUID | None) -> RunRequest:
    """Return the request for the same load of the same target, by this author."""
    return RunRequest(
        target=_target_of(old),
        options=old.options,
        author=author,
        access=access,
        is_admin=user_holds(author, Scope.ADMIN),
        engine=old.engine,
        name=old.name,
        place=Placement(old.wanted_generators, old.alongside),
        thresholds=old.thresholds,
        tags=[tag.name for tag in old.tags.all()],
        run_id=run_id,
    )


def _target_of(old: Run) -> RequestedTarget:
    if old.external_id:
        return {"external": str(old.external_id)}
    if old.pool_id:
        return {"pool": str(old.pool_id), "user": old.role}
    return {"cluster": str(old.cluster_id), "database": old.database, "user": old.role}
