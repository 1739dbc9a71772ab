"""Three PgBouncers on one port are one pooler: rows, sums, verbs, and what happens while one of them is down."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from django.test import Client

from core.lib.private_text import for_admins
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, free_port
from pools import deployment
from pools.console import commands
from pools.inventory import poolers
from pools.models import Pool, Pooler, PoolState
from pools.poolers import KINDS, first_query, local_process
from pools.poolers.faults import Unproved
from pools.poolers.pgbouncer import verify
from tests.live.conftest import TestPgBouncer
from tests.live.pools.conftest import MakePool, state_of
from tests.live.standbys import until

NAMES = ["pgbouncer-2.ini", "pgbouncer-3.ini", "pgbouncer.ini"]
pytestmark = pytest.mark.django_db(transaction=True)


class Further(TestPgBouncer):
    """A further process on the port of the first, with a main file of its own in the same folder."""

    __test__ = False
    number = 2

    @property
    def argv(self) -> list[str]:
        """Its main file has its number."""
        return [self.binary, str(self.config_dir / f"pgbouncer-{self.number}.ini")]

    def prepare(self) -> None:
        """Copy the main file of the first, with a socket and a pid file of its own."""
        account.make_folder(self.socket_folder)
        text = (self.config_dir / "pgbouncer.ini").read_text()
        text = text.replace(f"unix_socket_dir = {self.first.socket_folder}", f"unix_socket_dir = {self.socket_folder}")
        text = text.replace(f"{self.first.home}/pgbouncer.pid", f"{self.home}/pgbouncer.pid")
        account.write_private(self.config_dir / f"pgbouncer-{self.number}.ini", text)

    def probe(self) -> None:
        """Log in to this very process: through the port another one may answer."""
        self.console().close()

    def console(self) -> psycopg.Connection:
        """Open a console of this very process."""
        address = {"host": str(self.socket_folder), "port": self.port, "dbname": "pgbouncer"}
        return psycopg.connect(user=self.admin_user, password=self.admin_password, autocommit=True, **address)


@pytest.fixture
def pgbouncer(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """The first process, whose main file is copied for the others."""
    server = TestPgBouncer(tmp_path_factory.mktemp("pgbouncer"), free_port(), "pooldeck", "console-password", program)
    server.own_settings = {"so_reuseport": 1}
    with server:
        yield server


@pytest.fixture
def further(pgbouncer: PgBouncerServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Further]]:
    """Two more."""
    with ExitStack() as stack:
        made = []
        for number in (2, 3):
            one = Further(
                tmp_path_factory.mktemp(f"p{number}"), pgbouncer.port, "pooldeck", "console-password", pgbouncer.binary
            )
            one.config_dir, one.number, one.first = pgbouncer.config_dir, number, pgbouncer
            made.append(stack.enter_context(one))
        yield made


@pytest.fixture
def shared(further: list[Further], pooler: Pooler, make_pool: MakePool) -> Pool:
    """A pool that all three have."""
    poolers.check(pooler)
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    pooler.refresh_from_db()
    return pool


@pytest.fixture(params=["over their sockets", "over the port alone"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the processes are reached: as those of another host are, whose sockets can't be seen, too."""
    if request.param == "over the port alone":
        monkeypatch.setattr(local_process, "sharing", lambda _pooler: None)
        monkeypatch.setattr(local_process, "peer_of", lambda _connection, _likely: None)
        monkeypatch.setattr("pools.poolers.pgbouncer.process_sockets.is_here", lambda _folder, _port: False)


@pytest.mark.usefixtures("way")
def test_figures_are_sums_over_the_processes_and_each_has_a_row(
    shared: Pool, pooler: Pooler, further: list[Further]
) -> None:
    poolers.check(pooler)
    assert [one["name"] for one in pooler.processes] == NAMES
    address = {"port": pooler.port, "dbname": "orders", "user": "app", "password": "app-password"}
    with ExitStack() as stack:
        for one in further:  # a client of each but the first
            session = stack.enter_context(psycopg.connect(host=str(one.socket_folder), **address))
            session.execute("SELECT 1")
        [entry] = KINDS[pooler.kind].entries(pooler)
        sample = KINDS[pooler.kind].sample(pooler)
        assert (sample.figures["orders"].cl_active, sample.figures["orders"].sv_active) == (2, 2)
        assert {one.name: one.cl_active for one in sample.processes} == dict(zip(NAMES, (1, 1, 0), strict=True))
        assert [row["name"] for row in sample.rows["databases"]] == ["orders"]
        assert sample.rows["databases"][0]["pool_size"] == 3 * shared.size
        limit = KINDS[pooler.kind].most_clients(pooler)
        assert sample.rows["limits"][0]["max_client_conn"] == 3 * limit
        assert (entry.size, entry.connections) == (shared.size, sample.rows["databases"][0]["current_connections"])
        assert entry.connections >= 2
    words = {row["process"] for row in KINDS[pooler.kind].show(pooler, "databases") if row["name"] == "orders"}
    assert words == set(NAMES)


@pytest.mark.usefixtures("way")
def test_verbs_reach_each_process(shared: Pool, further: list[Further]) -> None:
    def seen(column: str) -> set[object]:
        found = set()
        for one in further:
            with one.console() as console:
                cursor = console.execute(b"SHOW DATABASES")
                names = [part.name for part in cursor.description]
                rows = [dict(zip(names, row, strict=True)) for row in cursor]
                found |= {row[column] for row in rows if row["name"] == "orders"}
        return found

    shared.pooler.refresh_from_db()
    outcome = commands.pause(shared, deadline_s=5, hold_s=60)
    assert seen("paused") == {1}
    assert outcome.detail.endswith(
        "Each process that shares the port did so: pgbouncer-2.ini, pgbouncer-3.ini, pgbouncer.ini."
    )
    commands.resume(shared)
    assert seen("paused") == {0}
    commands.disable(shared)
    assert seen("disabled") == {1}
    commands.enable(shared)
    assert seen("disabled") == {0}
    commands.reconnect(shared)
    commands.kill(shared, "orders")
    assert seen("paused") == {0}


def test_a_pool_that_one_process_alone_has_paused_is_not_failing(
    shared: Pool, pooler: Pooler, further: list[Further], monkeypatch: pytest.MonkeyPatch
) -> None:
    with further[0].console() as console:
        console.execute(b"PAUSE orders")
    there = {"host": str(further[0].socket_folder), "port": pooler.port}
    monkeypatch.setattr(verify, "connected", lambda _pooler, log_in: log_in(there))
    monkeypatch.setattr(first_query, "WITHIN_S", 1)
    for _number in range(5):
        with pytest.raises(Unproved, match="app into orders, which is paused: its query waits"):
            KINDS[pooler.kind].probe(shared, "app", "app-password")


def test_rows_tell_pid_socket_and_file(
    shared: Pool, pooler: Pooler, further: list[Further], admin_client: Client
) -> None:
    row = next(one for one in pooler.processes if one["name"] == "pgbouncer-2.ini")
    assert row == {
        "name": "pgbouncer-2.ini",
        "main_file": f"{pooler.config_dir}/pgbouncer-2.ini",
        "pid": further[0].process.pid,
        "socket": str(further[0].socket_folder),
        "peer_id": None,
        "version": pooler.server_version,
        "state": "online",
    }
    page = admin_client.get(f"/poolers/{pooler.pk}/").content.decode()
    assert 'id="processes-title"' in page
    assert str(further[1].process.pid) in page


def test_nothing_is_applied_while_one_that_was_there_does_not_answer(
    shared: Pool, pooler: Pooler, further: list[Further], make_pool: MakePool
) -> None:
    further[1].stop()
    poolers.check(pooler)
    assert pooler.silent_processes == ["pgbouncer-3.ini"]
    assert {one.name: bool(one.error) for one in KINDS[pooler.kind].sample(pooler).processes}["pgbouncer-3.ini"]
    later = make_pool("later")
    deployment.apply_pooler(pooler)
    state, reason = state_of(later)
    assert state == PoolState.PENDING
    assert f"the one of {pooler.config_dir}/pgbouncer-3.ini (socket {further[1].socket_folder})" in reason
    with pytest.raises(Exception, match="nothing is applied while one does not answer"):
        commands.reconnect(shared)
    further[1].start()
    assert until(lambda: not poolers.check(pooler) and not pooler.silent_processes, 10)
    deployment.apply_pooler(pooler)
    assert state_of(later) == (PoolState.APPLIED, "")


@pytest.mark.usefixtures("shared")
def test_a_main_file_that_never_ran_is_shown_and_blocks_nothing(pooler: Pooler, make_pool: MakePool) -> None:
    folder = Path(pooler.config_dir)
    text = (folder / "pgbouncer-3.ini").read_text()
    account.write_private(folder / "pgbouncer-4.ini", text.replace("/p3", "/p4"))
    assert for_admins(poolers.check(pooler)) == ""
    assert {one["name"]: one["state"] for one in pooler.processes}["pgbouncer-4.ini"] == "stopped"
    later = make_pool("later")
    deployment.apply_pooler(pooler)
    assert state_of(later) == (PoolState.APPLIED, "")
