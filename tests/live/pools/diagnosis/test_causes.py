"""Staged cases of each cause on real servers: the diagnosis names it, on each release of PgBouncer."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from panel.quickstart.servers import PostgresServer
from pools.diagnosis import diagnosis
from pools.models import Pool
from tests.live.conftest import APP_DATABASE
from tests.live.pools.diagnosis.conftest import SIZE, Clients

pytestmark = pytest.mark.django_db(transaction=True)
UPDATE = "UPDATE accounts SET balance = balance + 1 WHERE id = 1"
# In FROM itself the series would be written to temporary files first, 100 MB a second, which fills the tests' memory.
BUSY = "SELECT sum(n) FROM (SELECT generate_series(1, 400000000) n) numbers"
STREAMS = 12  # of a few, the readers get no processor on a busy machine, and PgBouncer has nothing to do
LINE = "COPY (SELECT repeat('x', 8000) FROM (SELECT generate_series(1, 100000000)) n) TO STDOUT"
SOME_BYTES = 1_000_000  # more than a program reads to start
Stage = Callable[[Clients, PostgresServer], str]


def lock_of_a_direct_session(clients: Clients, postgres: PostgresServer) -> str:
    holder = clients.stack.enter_context(postgres.connect(APP_DATABASE))
    holder.execute("BEGIN")
    holder.execute(UPDATE)
    clients.sending("locked", UPDATE, count=SIZE + 3)
    return "locked"


def lock_of_the_same_pool(clients: Clients, postgres: PostgresServer) -> str:
    clients.connect("locked", "batch").execute(UPDATE)
    clients.sending("locked", UPDATE, count=SIZE + 3)
    return "locked"


def lock_of_another_pool(clients: Clients, postgres: PostgresServer) -> str:
    clients.connect("other", "batch").execute(UPDATE)
    clients.sending("locked", UPDATE, count=SIZE + 3)
    return "locked"


def lock_of_a_table_behind_a_reader(clients: Clients, postgres: PostgresServer) -> str:
    clients.connect("other", "report").execute("SELECT * FROM accounts")
    clients.sending("other", "ALTER TABLE accounts ADD COLUMN IF NOT EXISTS note text", application="migration")
    time.sleep(0.2)
    clients.sending("locked", "SELECT * FROM accounts", count=SIZE + 3)
    return "locked"


def transactions_left_open_after_reading(clients: Clients, postgres: PostgresServer) -> str:
    for _number in range(SIZE):
        clients.connect("idle", "forgetful").execute("SELECT * FROM accounts")
    clients.sending("idle", "SELECT 1", count=4)
    time.sleep(1.1)
    return "idle"


def transactions_left_open_after_writing(clients: Clients, postgres: PostgresServer) -> str:
    for number in range(SIZE):
        clients.connect("idle", "forgetful").execute(UPDATE.replace("id = 1", f"id = {number + 2}"))
    clients.sending("idle", "SELECT 1", count=4)
    time.sleep(1.1)
    return "idle"


def statements_that_sleep(clients: Clients, postgres: PostgresServer) -> str:
    clients.sending("slow", "SELECT pg_sleep(60)", count=SIZE + 3)
    time.sleep(1.1)
    return "slow"


def statements_that_compute(clients: Clients, postgres: PostgresServer) -> str:
    clients.sending("slow", BUSY, count=SIZE)
    clients.sending("slow", "SELECT 1", count=3)
    time.sleep(1.1)
    return "slow"


def many_short_statements(clients: Clients, postgres: PostgresServer) -> str:
    clients.repeating("small", "SELECT pg_sleep(0.05)", count=8)
    return "small"


def sessions_kept_without_work(clients: Clients, postgres: PostgresServer) -> str:
    for _number in range(SIZE):
        session = clients.connect("kept")
        session.execute("SELECT 1")
        session.commit()
    clients.sending("kept", "SELECT 1", count=3)
    time.sleep(1.1)
    return "kept"


def fewer_connections_than_the_database_may_have(clients: Clients, postgres: PostgresServer) -> str:
    clients.repeating("capped", "SELECT pg_sleep(0.05)", count=8)
    return "capped"


def _bytes_read(pid: int) -> int:
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])


def a_full_core(clients: Clients, postgres: PostgresServer) -> str:
    """Stream more than one core forwards, to readers of which each has read some by now."""
    readers = []
    for session in clients.sending("streaming", LINE, count=STREAMS):
        os.set_blocking(session.fileno(), True)
        reader = subprocess.Popen(["cat"], stdin=session.fileno(), stdout=subprocess.DEVNULL)
        clients.stack.callback(reader.wait)
        clients.stack.callback(reader.kill)
        readers.append(reader.pid)
    clients.sending("streaming", "SELECT 1", count=3)
    clients.wait_for(lambda: all(_bytes_read(pid) > SOME_BYTES for pid in readers))
    return "streaming"


def no_place_for_clients(clients: Clients, postgres: PostgresServer) -> str:
    clients.stack.enter_context(clients.set("max_client_conn", 10))
    clients.connect_until_refused("clients")
    return "clients"


def no_server_at_the_port(clients: Clients, postgres: PostgresServer) -> str:
    clients.logging_in("dead")
    return "dead"


def a_password_that_is_refused(clients: Clients, postgres: PostgresServer) -> str:
    clients.logging_in("wrong")
    return "wrong"


def a_role_without_connections_left(clients: Clients, postgres: PostgresServer) -> str:
    clients.logging_in("limited")
    return "limited"


def a_database_that_takes_none(clients: Clients, postgres: PostgresServer) -> str:
    clients.logging_in("closed")
    return "closed"


def a_name_without_an_address(clients: Clients, postgres: PostgresServer) -> str:
    clients.logging_in("nameless")
    return "nameless"


STAGES: list[tuple[str, Stage]] = [
    ("lock", lock_of_a_direct_session),
    ("lock", lock_of_the_same_pool),
    ("lock", lock_of_another_pool),
    ("lock", lock_of_a_table_behind_a_reader),
    ("idle_in_transaction", transactions_left_open_after_reading),
    ("idle_in_transaction", transactions_left_open_after_writing),
    ("slow_statement", statements_that_sleep),
    ("slow_statement", statements_that_compute),
    ("pool_size", many_short_statements),
    ("pool_size", sessions_kept_without_work),
    ("pool_size", fewer_connections_than_the_database_may_have),
    ("client_limit", no_place_for_clients),
    ("server_logins", no_server_at_the_port),
    ("server_logins", a_password_that_is_refused),
    ("server_logins", a_role_without_connections_left),
    ("server_logins", a_database_that_takes_none),
    ("dns", a_name_without_an_address),
    ("pooler_core", a_full_core),
]


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[list[tuple[str, ...]]]:
    """The cases with what was found, printed at the end."""
    rows: list[tuple[str, ...]] = []
    yield rows
    print()
    for row in rows:
        print(" | ".join(row))


def _parameters() -> Iterator[ParameterSet]:
    for cause, stage in STAGES:
        marks = [pytest.mark.timing] if cause == "pooler_core" else []  # it is judged by the share of a core
        yield pytest.param(cause, stage, id=stage.__name__, marks=marks)


@pytest.mark.parametrize(("cause", "stage"), list(_parameters()))
def test_the_cause_is_named(
    cause: str,
    stage: Stage,
    clients: Clients,
    registered: Callable[[str], Pool],
    prepared: PostgresServer,
    table: list[tuple[str, ...]],
) -> None:
    pool = registered(stage(clients, prepared))
    if cause != "client_limit":
        clients.wait_for(lambda: clients.waiting(pool.name))
    found = diagnosis.of(pool)
    table.append((stage.__name__, found.cause or "none", f"{found.took_s:.2f} s", found.finding.sentence))
    print(found.queue, found.finding, found.notes, found.also, sep="\n")
    assert found.cause == cause
