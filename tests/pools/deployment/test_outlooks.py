"""What a rollback says beforehand is what it then does."""

import pytest

from pools.deployment import rollback, snapshots
from pools.deployment import rollback as rollback_preview
from pools.models import PoolState, Revision, RevisionState
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


def test_everything_that_stands_otherwise_is_named() -> None:
    pooler = a_pooler(settings={"max_client_conn": 100})
    kept, gone = (a_pool(pooler=pooler, name=name, state=PoolState.APPLIED) for name in ("kept", "gone"))
    grown = a_pool(pooler=pooler, name="grown", size=3, state=PoolState.APPLIED)
    first = Revision.objects.draft(pooler, {}, specs=snapshots.snapshot(pooler))
    first.finish(RevisionState.APPLIED)
    gone.delete()
    grown.edit(None, size=9)
    a_pool(pooler=pooler, cluster=kept.cluster, name="made", state=PoolState.APPLIED)
    pooler.edit(None, settings={"max_client_conn": 200})
    assert [(part.heading, part.named, part.more) for part in rollback_preview.effects(pooler, first)] == [
        ("Pools that it removes", ["made"], 0),
        ("Pools that it brings back", ["gone"], 0),
        ("Pools that it changes", ["grown: size 9 → 3"], 0),
        ("Settings and files that it changes", ["max_client_conn 200 → 100"], 0),
    ]
    rollback.roll_back(pooler, first)
    assert rollback_preview.effects(pooler, first) == []
    assert set(pooler.pools.wanted().values_list("name", flat=True)) == {"kept", "gone", "grown"}


def test_of_many_the_first_are_named() -> None:
    pooler = a_pooler()
    first = Revision.objects.draft(pooler, {}, specs=snapshots.snapshot(pooler))
    cluster = a_pool(pooler=pooler, state=PoolState.APPLIED).cluster
    for number in range(rollback_preview.MOST_NAMED):
        a_pool(pooler=pooler, cluster=cluster, name=f"p{number:02}", state=PoolState.APPLIED)
    (part,) = rollback_preview.effects(pooler, first)
    assert (len(part.named), part.more) == (rollback_preview.MOST_NAMED, 1)
