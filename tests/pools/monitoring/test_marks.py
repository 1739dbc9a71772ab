"""What charts mark: what happened to a pool, a pooler, an entry or a cluster in a window, as far as one may see it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from core.accounts.access import Access
from core.accounts.models import Role, Team
from pools.models import Pool, Pooler, Restart, RestartEvidence, Revision, RevisionState, SubjectType
from pools.monitoring import marks
from pools.monitoring.marks import MarkKind
from pools.monitoring.windows import RANGES
from tests.benchmarks.records import a_finished_run
from tests.callers import of_an_admin, person
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry

pytestmark = pytest.mark.django_db
ALL = of_an_admin()
HOUR = "hour"


def a_revision(pooler: Pooler, summary: str, state: RevisionState = RevisionState.APPLIED) -> Revision:
    revision = Revision.objects.draft(pooler, {}, summary=summary)
    revision.finish(state)
    return revision


def a_restart(pooler: Pooler, evidence: RestartEvidence = RestartEvidence.PROCESS, process: str = "") -> Restart:
    return Restart.objects.create(pooler=pooler, at=timezone.now(), evidence=evidence, process=process)


def of_pool(pool: Pool, access: Access = ALL) -> list[tuple[MarkKind, str]]:
    return [(one.kind, one.name) for one in marks.of_pool(pool, access, RANGES[HOUR].window())]


def test_a_revision_that_changed_a_size_is_marked_with_the_change_at_the_time_of_its_end():
    pool = a_pool(name="orders")
    revision = a_revision(pool.pooler, "orders: mode session → transaction · orders: size 3 → 7")
    (mark,) = marks.of_pool(pool, ALL, RANGES[HOUR].window())
    assert (mark.kind, mark.name, mark.at) == (MarkKind.SIZE, "size 3 → 7", revision.finished_at)
    assert mark.text == "Revision 1 applied: orders: mode session → transaction · orders: size 3 → 7"
    assert mark.url == f"/poolers/{pool.pooler_id}/revisions/1/"


def test_the_size_of_another_pool_is_a_revision_for_this_one_and_named_on_their_pooler():
    pool = a_pool(name="orders")
    a_revision(pool.pooler, "carts: size 3 → 7")
    assert of_pool(pool) == [(MarkKind.REVISION, "revision 1")]
    (mark,) = marks.of_pooler(pool.pooler, ALL, RANGES[HOUR].window())
    assert (mark.kind, mark.name) == (MarkKind.SIZE, "carts: size 3 → 7")


@pytest.mark.parametrize("state", [RevisionState.ROLLED_BACK, RevisionState.FAILED])
def test_a_size_that_did_not_go_live_is_no_size_change(state):
    pool = a_pool(name="orders")
    a_revision(pool.pooler, "orders: size 3 → 7", state)
    assert of_pool(pool) == [(MarkKind.REVISION, "revision 1")]


def test_a_pending_revision_is_not_marked_yet():
    pool = a_pool()
    Revision.objects.draft(pool.pooler, {}, summary="orders: size 3 → 7")
    assert of_pool(pool) == []


def test_a_pool_is_marked_with_the_events_of_its_pooler_and_cluster_and_with_its_runs():
    pool = a_pool()
    an_event(pool)
    an_event(pool, kind="pooler_down", subject_type=SubjectType.POOLER, subject_id=pool.pooler_id)
    an_event(pool, kind="cluster_down", subject_type=SubjectType.CLUSTER, subject_id=pool.cluster_id, pooler_id=None)
    an_event(a_pool(pooler=pool.pooler), kind="maxwait")
    run = a_finished_run(cluster=pool.cluster, pool=pool)
    a_finished_run(cluster=pool.cluster)
    assert sorted(of_pool(pool)) == [
        (MarkKind.EVENT, "clients waiting for a connection"),
        (MarkKind.EVENT, "cluster down"),
        (MarkKind.EVENT, "pooler down"),
        (MarkKind.RUN, f"run {run.number}"),
    ]


def test_a_pooler_is_marked_with_the_events_and_runs_of_its_pools():
    pool, other = a_pool(), a_pool()
    an_event(pool)
    an_event(other)
    run = a_finished_run(cluster=pool.cluster, pool=pool)
    found = marks.of_pooler(pool.pooler, ALL, RANGES[HOUR].window())
    assert [one.name for one in found] == [f"run {run.number}", "clients waiting for a connection"]


def test_a_cluster_is_marked_with_its_events_those_of_its_pools_and_its_runs():
    pool = a_pool()
    an_event(pool)
    run = a_finished_run(cluster=pool.cluster)
    found = marks.of_cluster(pool.cluster, ALL, RANGES[HOUR].window())
    assert [one.name for one in found] == [f"run {run.number}", "clients waiting for a connection"]


def test_an_entry_is_marked_with_its_events_and_the_revisions_of_its_pooler():
    entry = an_entry(pooler=a_pooler())
    a_revision(entry.pooler, "carts is new")
    about = {"subject_type": SubjectType.ENTRY, "subject_id": entry.pk, "pooler_id": entry.pooler_id}
    an_event(a_pool(), **about)
    found = marks.of_entry(entry, ALL, RANGES[HOUR].window())
    assert [one.kind for one in found] == [MarkKind.REVISION, MarkKind.EVENT]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("pooler_down", "pooler answers again"),
        ("cluster_down", "cluster answers again"),
        ("restart", "no restart pending"),
    ],
)
def test_the_end_of_a_failure_or_of_an_awaited_restart_is_marked_too(kind, name):
    pool = a_pool()
    subject = {"subject_type": SubjectType.POOLER, "subject_id": pool.pooler_id}
    an_event(pool, kind=kind, **subject, opened_at=timezone.now() - timedelta(hours=3), closed_at=timezone.now())
    an_event(pool, opened_at=timezone.now() - timedelta(hours=3), closed_at=timezone.now())
    assert of_pool(pool) == [(MarkKind.NORMAL, name)]


@pytest.mark.parametrize(
    ("evidence", "process", "name", "text"),
    [
        (RestartEvidence.PROCESS, "", "restart", "The pooler restarted: edge"),
        (RestartEvidence.PROCESS, "b.ini", "restart", "A process of the pooler restarted: edge, b.ini"),
        (
            RestartEvidence.COUNTERS,
            "",
            "counters from 0",
            "The pooler counts from 0, after a restart or a KILL: edge",
        ),
    ],
)
def test_a_restart_is_marked_on_pool_pooler_and_cluster_as_far_as_it_was_seen(evidence, process, name, text):
    pool = a_pool(pooler=a_pooler(name="edge"))
    restart, window = a_restart(pool.pooler, evidence, process), RANGES[HOUR].window()
    found = [*marks.of_pool(pool, ALL, window), *marks.of_pooler(pool.pooler, ALL, window)]
    found += marks.of_poolers([pool.pooler], ALL, window)[pool.pooler_id]
    assert [(one.kind, one.name, one.text, one.at) for one in found] == [(MarkKind.RESTART, name, text, restart.at)] * 3
    assert {one.url for one in found} == {f"/poolers/{pool.pooler_id}/"}


def test_what_happened_outside_of_the_window_is_not_marked():
    pool = a_pool()
    before = timezone.now() - timedelta(hours=3)
    an_event(pool, opened_at=before)
    revision = a_revision(pool.pooler, "x is new")
    Revision.objects.filter(pk=revision.pk).update(finished_at=before)
    assert of_pool(pool) == []
    assert len(marks.of_pool(pool, ALL, RANGES["day"].window())) == 2


def test_a_caller_who_does_not_see_the_pooler_gets_no_mark_of_its_revisions():
    ours, theirs = Team.objects.create(name="ours"), Team.objects.create(name="theirs")
    pool = a_pool(cluster=a_cluster(team=ours), pooler=a_pooler(team=theirs))
    a_revision(pool.pooler, "carts of theirs is new")
    member = person(staff=False)
    ours.memberships.create(user=member, role=Role.VIEWER)
    assert of_pool(pool, Access(member)) == []
    assert of_pool(pool) == [(MarkKind.REVISION, "revision 1")]


def test_marks_cost_the_same_with_one_and_three(django_assert_num_queries):
    pool = a_pool()
    for kind in ("waiting", "maxwait", "failing"):
        an_event(pool, kind=kind)
        a_revision(pool.pooler, "x is new")
        a_finished_run(cluster=pool.cluster, pool=pool)
        a_restart(pool.pooler, process=kind)
    with django_assert_num_queries(5):
        assert len(marks.of_pool(pool, ALL, RANGES[HOUR].window())) == 12
