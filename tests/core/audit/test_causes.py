"""What a worker carries out later has the reason of the one who asked for it."""

from contextlib import AbstractContextManager

import pytest
from django.utils import timezone

from core.audit import actors
from core.audit.actors import Actor, Origin, acting
from core.audit.acts import subject_of
from core.audit.models import ActorKind, Entry
from core.audit.recording import attempt, record
from pools.models import Pool, Pooler, Revision, RevisionState, TakeOver, TakeOverState
from tests.callers import person
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db(transaction=True)


def asking(reason: str = "", name: str = "ann") -> AbstractContextManager[Origin]:
    return acting(Origin(Actor(ActorKind.PERSON, name), "192.0.2.7", reason))


def working(kind: ActorKind = ActorKind.WORKER) -> AbstractContextManager[Origin]:
    return acting(Origin(Actor(kind, "tasks-1"), "host: task"))


def reasons(action: str) -> list[tuple[str, str]]:
    """Kind of actor and reason of the entries of an act."""
    return list(Entry.objects.filter(action=action).order_by("number").values_list("actor_kind", "reason"))


def ask_to_remove(pool: Pool, reason: str) -> None:
    with asking(reason):
        Pool.objects.filter(pk=pool.pk).update(removal_requested_at=timezone.now())


def test_a_pool_that_a_worker_removes_went_for_the_reason_that_was_given() -> None:
    first, second, third = a_pool(), a_pool(), a_pool()
    ask_to_remove(first, "moved to the warehouse")
    with asking():
        Pool.objects.filter(pk=first.pk).update(size=3)  # no reason is asked for this, so that of the removal counts
    ask_to_remove(second, "")
    with working():
        first.delete()
        second.delete()
    with acting(Origin(Actor(ActorKind.PERSON, "bob"), "192.0.2.8")):
        third.delete()
    assert reasons("pool.delete") == [("worker", "moved to the warehouse"), ("worker", ""), ("person", "")]


def a_revision(pooler: Pooler, number: int, kind: ActorKind = ActorKind.WORKER) -> None:
    with working(kind):
        made = Revision.objects.create(pooler=pooler, number=number, author=person())
        Revision.objects.filter(pk=made.pk).update(state=RevisionState.APPLIED)


def test_an_apply_has_the_reason_of_what_it_carries_out_and_the_next_one_has_not() -> None:
    pooler, other = a_pooler(), a_pooler()
    with asking("the new limits were too low"), attempt("pooler.roll_back", subject_of(pooler)):
        pass
    a_revision(other, 1)
    a_revision(pooler, 1)
    a_revision(pooler, 2)
    with asking("edited by hand in the night"), attempt("pooler.overwrite", subject_of(pooler)):
        pass
    with working():
        record("pooler.apply", subject_of(pooler), outcome="failed: it hangs")
    a_revision(pooler, 3, ActorKind.SCHEDULE)
    given = ["", "the new limits were too low", "", "edited by hand in the night", ""]
    assert [reason for _kind, reason in reasons("pooler.apply")] == given


def test_a_take_over_and_letting_go_have_theirs() -> None:
    pooler = a_pooler()
    with asking("the panel writes it from now on"):
        taken = TakeOver.objects.create(pooler=pooler, author=person())
    with working():
        taken.move(TakeOverState.TAKEN)
    with asking("back to Ansible"):
        TakeOver.objects.filter(pk=taken.pk).update(state=TakeOverState.LEAVING)
    with working():
        taken.move(TakeOverState.RELEASED)
    assert [reason for kind, reason in reasons("pooler.take_over") if kind == "worker"] == [
        "the panel writes it from now on"
    ]
    assert reasons("pooler.let_go") == [("worker", "back to Ansible")]


def test_a_reason_of_ones_own_stays() -> None:
    pool = a_pool()
    ask_to_remove(pool, "moved")
    with working(), actors.because("its server is gone"):
        pool.delete()
    assert reasons("pool.delete") == [("worker", "its server is gone")]
