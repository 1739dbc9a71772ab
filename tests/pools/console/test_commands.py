"""What the panel does around the console's verbs; what PgBouncer does is in tests/live/pools/console."""

from datetime import timedelta

import pytest
from django.utils import timezone

from pools import tasks
from pools.console import commands
from pools.errors import ConsoleRefused, IllegalTransition, InvalidValues, PoolerUnreachable
from pools.models import Pool, PoolerKind
from pools.poolers.pgbouncer.driver import PgBouncer
from tests.pools.consoles import FakeControls
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(monkeypatch):
    fake = FakeControls()
    monkeypatch.setattr(PgBouncer, "controls", lambda self, pooler: fake.opened())
    return fake


def paused_until(pool):
    return Pool.objects.get(pk=pool.pk).paused_until


@pytest.mark.parametrize(
    ("asked", "field", "message"),
    [
        ({"deadline_s": 0}, "deadline_s", "0 s is out of range: use 1 to 60"),
        ({"deadline_s": 61}, "deadline_s", "61 s is out of range: use 1 to 60"),
        ({"hold_s": 3601}, "hold_s", "3601 s is out of range: use 1 to 3600"),
    ],
)
def test_times_out_of_range_are_named_and_nothing_is_sent(console, asked, field, message):
    with pytest.raises(InvalidValues) as refused:
        commands.pause(a_pool(), **asked)
    assert (refused.value.errors, console.done) == ({field: [message]}, [])


def test_a_pause_is_written_down_before_it_is_sent(console, monkeypatch):
    pool = a_pool()

    def die(name, deadline_s):
        assert paused_until(pool) > timezone.now() + timedelta(seconds=7)
        raise KeyboardInterrupt

    monkeypatch.setattr(console, "pause", die)
    with pytest.raises(KeyboardInterrupt):
        commands.pause(pool, deadline_s=7)
    assert paused_until(pool) < timezone.now() + timedelta(seconds=30)


def test_a_console_that_breaks_in_a_pause_is_resumed_by_the_next_beat(console, monkeypatch):
    pool = a_pool()

    def gone(*_):
        raise PoolerUnreachable("the pooler's console hung up")

    monkeypatch.setattr(console, "pause", gone)
    monkeypatch.setattr(console, "resume", gone)
    with pytest.raises(PoolerUnreachable):
        commands.pause(pool)
    assert paused_until(pool) <= timezone.now()
    monkeypatch.undo()
    monkeypatch.setattr(PgBouncer, "controls", lambda self, pooler: console.opened())
    tasks.resume_paused_pools()
    assert (paused_until(pool), console.done) == (None, ["resume"])


def test_nothing_is_green_that_the_console_does_not_show(console):
    console.deaf = True
    for verb in (commands.pause, commands.disable):
        with pytest.raises(
            ConsoleRefused,
            match=r"the console accepted the command, but pool \S+ is (not paused|enabled): check again",
        ):
            verb(a_pool())


def test_a_pause_resumed_by_somebody_else_is_not_held(console, monkeypatch):
    pool = a_pool()

    def overtaken(name, deadline_s):
        Pool.objects.update(paused_until=None)
        return True

    monkeypatch.setattr(console, "pause", overtaken)
    with pytest.raises(IllegalTransition, match="was resumed by another user in the meantime"):
        commands.pause(pool)
    assert (console.done, paused_until(pool)) == (["resume"], None)


def test_a_pooler_that_is_being_applied_is_left_alone(console):
    pool = a_pool()
    assert pool.pooler.take_apply_lock()
    with pytest.raises(IllegalTransition, match="is being applied right now: try again in a moment"):
        commands.pause(pool)
    with pytest.raises(IllegalTransition, match="is being applied"):
        commands.kill(pool, pool.name)
    assert console.done == []


def test_a_pgpool_has_no_such_verbs():
    pool = a_pool(pooler=a_pooler(name="pp", kind=PoolerKind.PGPOOL))
    with pytest.raises(ConsoleRefused, match="pooler pp: Pgpool-II can't pause"):
        commands.pause(pool)


def test_only_what_is_due_is_resumed(console):
    now = timezone.now()
    due, later, never = a_pool(), a_pool(), a_pool()
    console.paused = True
    Pool.objects.filter(pk=due.pk).update(paused_until=now - timedelta(seconds=1))
    Pool.objects.filter(pk=later.pk).update(paused_until=now + timedelta(seconds=60))
    commands.resume_due()
    assert [paused_until(pool) is None for pool in (due, later, never)] == [True, False, True]
    assert console.done == ["resume"]


def test_every_verb_is_logged_with_the_person(console, caplog):
    caplog.set_level("INFO")
    pool = a_pool(name="orders")
    for verb in (commands.pause, commands.resume, commands.reconnect):
        verb(pool, author="ann")
    commands.kill(pool, "orders", author="ann")
    commands.disable(pool, author="ann")
    commands.enable(pool, author="ann")
    reported = [record.getMessage() for record in caplog.records if record.name == "pools.console.commands"]
    assert [line for line in reported if line.endswith("by ann")] == [
        f"pool {pool.pk} (orders): {words} by ann"
        for words in ("PAUSE within 5 s, for 60 s,", "RESUME", "RECONNECT", "KILL, held for 0 s,", "DISABLE", "ENABLE")
    ]
