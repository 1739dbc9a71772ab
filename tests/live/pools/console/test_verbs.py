"""PAUSE with a deadline and its like: what clients feel, what the console says, and what a dead process leaves."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from django.db import connection as panel_database
from django.utils import timezone

from pools.console import commands
from pools.console.commands import NotPaused
from pools.errors import ConsoleRefused, IllegalTransition, InvalidValues, NotLive
from pools.models import Pool, Pooler
from pools.poolers.admin_commands import Condition
from pools.poolers.pgbouncer import console
from tests.live.pools.console.conftest import Client

pytestmark = pytest.mark.django_db(transaction=True)

MakePool = Callable[..., Pool]
RUNNING, PAUSED, DISABLED = Condition(False, False), Condition(True, False), Condition(False, True)
PAUSE_ELSEWHERE = """
import django; django.setup()
from pools.console import commands
from pools.models import Pool
commands.pause(Pool.objects.get(), deadline_s=60)
"""


def condition(pool: Pool) -> Condition:
    with commands.controls_of(pool.pooler) as controls:
        return controls.condition(pool.name)


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen in {seconds} s"
        time.sleep(0.05)


def paused_until(pool: Pool) -> object:
    return Pool.objects.get(pk=pool.pk).paused_until


def test_a_blocked_pause_names_who_blocks_and_lets_everybody_go_on(pool: MakePool, client: Client) -> None:
    orders = pool()
    batch, shop = client(name="batch", autocommit=False), client(name="shop")
    batch.execute("SELECT 'a long job'")
    with pytest.raises(NotPaused, match="pool orders could not be paused in 1 s and was resumed: 1 blocker") as refused:
        commands.pause(orders, deadline_s=1)
    (blocker,) = refused.value.blockers
    assert (blocker.user, blocker.application, blocker.state) == ("app", "batch", "active")
    assert (blocker.activity, blocker.query) == ("idle in transaction", "SELECT $1")
    assert blocker.server_pid == batch.execute("SELECT pg_backend_pid()").fetchone()[0]
    assert blocker.transaction_s is not None
    assert 1 <= blocker.transaction_s < 10
    assert (condition(orders), paused_until(orders)) == (RUNNING, None)
    assert shop.execute("SELECT 1").fetchone() == (1,)
    batch.commit()


def test_a_paused_pool_holds_its_clients_until_its_time_is_over(pool: MakePool, client: Client) -> None:
    orders, shop = pool(), client()
    shop.execute("SELECT 1")
    outcome = commands.pause(orders, hold_s=1)
    assert (outcome.condition, condition(orders)) == (PAUSED, PAUSED)
    assert outcome.paused_until == paused_until(orders)
    assert outcome.detail == f"Pool orders is paused until {outcome.paused_until:%H:%M:%S} UTC."
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(lambda: shop.execute("SELECT 2").fetchone())
        commands.resume_due()
        assert (condition(orders), answer.done()) == (PAUSED, False)
        wait_until(lambda: timezone.now() > outcome.paused_until, "the end of the pause")
        commands.resume_due()
        assert answer.result(10) == (2,)
    assert (condition(orders), paused_until(orders)) == (RUNNING, None)


def test_a_process_that_dies_while_it_waits_leaves_no_pause_behind(pool: MakePool, client: Client) -> None:
    orders = pool()
    batch = client(name="batch", autocommit=False)
    batch.execute("SELECT 1")
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    if panel_database.vendor == "sqlite":
        environment["DATABASE_URL"] = f"sqlite:///{panel_database.settings_dict['NAME']}"
    process = subprocess.Popen([sys.executable, "-c", PAUSE_ELSEWHERE], env=environment)
    wait_until(lambda: condition(orders).paused, "PAUSE", 30)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until = paused_until(orders)
    assert (condition(orders), until is not None) == (PAUSED, True)
    Pool.objects.update(paused_until=timezone.now() - timedelta(seconds=1))  # its deadline and grace are over
    commands.resume_due()
    assert (condition(orders), paused_until(orders)) == (RUNNING, None)
    batch.commit()
    assert batch.execute("SELECT 2").fetchone() == (2,)


def test_a_pause_waits_for_the_next_beat_when_the_console_is_gone(pool: MakePool) -> None:
    orders = pool()
    Pool.objects.update(paused_until=timezone.now() - timedelta(seconds=1))
    port = orders.pooler.port
    Pooler.objects.update(port=1)
    commands.resume_due()
    assert paused_until(orders) is not None
    Pooler.objects.update(port=port)
    commands.resume_due()
    assert paused_until(orders) is None


def test_a_busy_pool_beside_it_does_not_spoil_a_pause(pool: MakePool, client: Client) -> None:
    orders, other = pool(), pool("other")
    batch = client("other", autocommit=False)
    batch.execute("SELECT 1")
    with console.open(orders.pooler) as waiting, ThreadPoolExecutor(1) as threads:
        answer = threads.submit(console.command, waiting, "PAUSE other", 10)
        wait_until(lambda: condition(other).paused, "PAUSE other")
        assert commands.pause(orders, deadline_s=1).condition == PAUSED
        commands.resume(orders)
        batch.commit()
        answer.result(10)
    commands.resume(other)


def test_a_pause_that_somebody_resumes_meanwhile_says_so(pool: MakePool, client: Client) -> None:
    orders = pool()
    batch = client(autocommit=False)
    batch.execute("SELECT 1")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(with_own_connection, commands.pause, orders, 2)
        wait_until(lambda: condition(orders).paused, "PAUSE")
        commands.resume(orders)
        assert condition(orders) == RUNNING
        with pytest.raises(NotPaused):
            waiting.result(10)
    assert (condition(orders), paused_until(orders)) == (RUNNING, None)


def with_own_connection(verb: Callable[..., object], *values: object) -> object:
    try:
        return verb(*values)
    finally:
        panel_database.close()


def test_what_is_paused_already_is_not_paused_twice_and_resume_says_what_it_found(pool: MakePool) -> None:
    orders = pool()
    commands.pause(orders)
    with pytest.raises(IllegalTransition, match="pool orders is already paused: resume it first"):
        commands.pause(orders)
    assert commands.resume(orders).detail == "Pool orders is running."
    assert (condition(orders), paused_until(orders)) == (RUNNING, None)
    assert commands.resume(orders).detail == "Pool orders was not paused."


def test_kill_drops_clients_and_the_pool_takes_new_ones(pool: MakePool, client: Client) -> None:
    orders, shop = pool(), client()
    shop.execute("SELECT 1")
    with pytest.raises(InvalidValues, match="'order' is not its name: type 'orders' to kill it"):
        commands.kill(orders, "order")
    outcome = commands.kill(orders, "orders")
    assert outcome.detail == "Dropped clients: 1; dropped server connections: 1. Pool orders accepts clients again."
    assert (outcome.condition, paused_until(orders)) == (RUNNING, None)
    with pytest.raises(psycopg.OperationalError):
        shop.execute("SELECT 1")
    assert client().execute("SELECT 1").fetchone() == (1,)


def test_kill_can_keep_clients_out_and_leaves_a_pause_as_it_was(pool: MakePool) -> None:
    orders = pool()
    held = commands.kill(orders, "orders", hold_s=60)
    assert (held.condition, held.paused_until) == (PAUSED, paused_until(orders))
    again = commands.kill(orders, "orders")
    assert (again.condition, again.paused_until) == (PAUSED, held.paused_until)
    assert again.detail.endswith("Pool orders is still paused.")


def test_reconnect_replaces_servers_as_clients_let_them_go(pool: MakePool, client: Client) -> None:
    orders = pool()
    assert commands.reconnect(orders).detail == "Pool orders had no server connection to replace."
    shop = client(autocommit=False)
    before = shop.execute("SELECT pg_backend_pid()").fetchone()
    outcome = commands.reconnect(orders)
    assert outcome.detail == "1 of 1 server connections is in use and is replaced when released."
    assert shop.execute("SELECT pg_backend_pid()").fetchone() == before
    shop.commit()
    assert shop.execute("SELECT pg_backend_pid()").fetchone() != before


def test_a_disabled_pool_refuses_new_clients_and_keeps_the_others(pool: MakePool, client: Client) -> None:
    orders, shop = pool(), client()
    assert commands.disable(orders).condition == DISABLED
    with pytest.raises(psycopg.OperationalError, match="disabled"):
        client()
    assert shop.execute("SELECT 1").fetchone() == (1,)
    assert commands.enable(orders).condition == RUNNING
    assert client().execute("SELECT 1").fetchone() == (1,)


def test_names_with_capitals_dots_and_dashes_are_addressed(pool: MakePool) -> None:
    odd = pool("Or-ders.2")
    assert commands.pause(odd).condition == PAUSED
    assert commands.resume(odd).condition == RUNNING
    assert commands.disable(odd).condition == DISABLED


def test_what_the_console_does_not_know_or_can_not_read_is_refused(pool: MakePool) -> None:
    with pytest.raises(NotLive, match="has no pool nosuch: it has to be applied first"):
        commands.pause(pool("nosuch"))
    too_long = pytest.raises(ConsoleRefused, match="takes no quoted name of 62 characters")
    with commands.controls_of(Pooler.objects.get()) as controls, too_long:
        controls.reconnect("a-" + "b" * 60)
    assert Pool.objects.exclude(paused_until=None).count() == 0
