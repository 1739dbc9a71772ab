"""One PgBouncer becomes three and then two, while pgbench works through it; each is started from the panel's files."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from core.lib.private_text import for_admins
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.deployment import drift, rollback
from pools.hosts import worker
from pools.inventory import poolers, pools
from pools.models import Pool, Pooler, PoolState
from pools.poolers import KINDS
from pools.poolers.pgbouncer import process_plan
from pools.poolers.process_plan import ProcessPlan
from tests.live.conftest import APP_PASSWORD, TestPgBouncer
from tests.live.pools.conftest import ConfigBytes, LogIn, state_of
from tests.live.pools.poolers.pgbouncer.conftest import HERE
from tests.live.standbys import until
from tests.postgresqls import bindirs

PEERS, LEAVES_CLIENTS = (1, 19), (1, 23)
CLIENTS = 6
pytestmark = pytest.mark.django_db(transaction=True)
here = pytest.mark.parametrize("program", [HERE], indirect=True)


class Instance(TestPgBouncer):
    """What the template unit starts for one number, and how its sockets are reached."""

    __test__ = False
    number, unit = 2, ""

    def line(self, name: str) -> str:
        """A line of the unit, for this instance."""
        return re.findall(rf"(?m)^{name}=(.*)$", self.unit)[0].replace("%i", str(self.number))

    @property
    def argv(self) -> list[str]:
        """Its ExecStart; programs of other releases are unpacked here, and run by a loader that they bring."""
        program, main = self.line("ExecStart").split()
        return [program if Path(program).name == "pgbouncer" else self.binary, main]

    @property
    def folder(self) -> str:
        """Where its socket is."""
        return self.line("ExecStartPre").split()[-1]

    def prepare(self) -> None:
        """Do what its ExecStartPre does, as its account."""
        account.make_folder(Path(self.folder))

    def probe(self) -> None:
        """Log in to the console of this very process."""
        self.shown("version")

    def shown(self, word: str) -> list[tuple[object, ...]]:
        """Rows of SHOW of this process."""
        login = {"user": self.admin_user, "password": self.admin_password, "dbname": "pgbouncer", "autocommit": True}
        with psycopg.connect(host=self.folder, port=self.port, **login) as console:
            return console.execute(f"SHOW {word}".encode()).fetchall()


class Load:
    """A pgbench that keeps its connections, or makes one for each transaction."""

    def __init__(self, pooler: Pooler, seconds: int, script: Path, *options: str) -> None:
        script.write_text("SELECT 1;\n")
        address = ["-h", pooler.host, "-p", str(pooler.port), "-U", "app", "-f", str(script)]
        words = ["-n", "-c", str(CLIENTS), "-j", "2", "-T", str(seconds), *options, "orders"]
        environment = {"PATH": os.environ["PATH"], "PGPASSWORD": APP_PASSWORD}
        program = str(max(bindirs().items(), key=lambda one: int(one[0]))[1] / "pgbench")
        self.child = subprocess.Popen(
            [program, *address, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def transactions(self) -> int:
        """How many it did; every client must have gone on to the end."""
        printed, errors = self.child.communicate(timeout=60)
        assert self.child.returncode == 0, errors
        assert "aborted" not in errors
        assert "number of failed transactions: 0 (0.000%)" in printed
        return int(re.findall(r"transactions actually processed: (\d+)", printed)[0])


@pytest.fixture
def instance(pgbouncer: PgBouncerServer) -> Iterator[Callable[[int, str], Instance]]:
    """Starts an instance of a unit that the panel offered."""
    with ExitStack() as stack:

        def start(number: int, unit: str) -> Instance:
            login = (pgbouncer.admin_user, pgbouncer.admin_password, pgbouncer.binary)
            one = Instance(pgbouncer.home, pgbouncer.port, *login)
            one.number, one.unit = number, unit
            one.config_dir = pgbouncer.config_dir
            return one

        yield lambda number, unit: stack.enter_context(start(number, unit))


def ask(pooler: Pooler, count: int) -> None:
    """Ask for that many and apply it."""
    poolers.change(pooler, {"desired_processes": count})
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (pooler.settings_state, pooler.settings_reason) == (PoolState.APPLIED, "")


def awaited(pooler: Pooler) -> str:
    """What a check finds missing."""
    poolers.check(pooler)
    pooler.refresh_from_db()
    return for_admins(KINDS[pooler.kind].processes_awaited(pooler))


def read_back(pooler: Pooler, numbers: list[int]) -> None:
    """A check finds them, and the apply that follows reads each back."""
    text = "each of the processes answers, and the next apply reads them back"
    until(lambda: awaited(pooler) == text)
    assert pooler.settings_state == PoolState.PENDING
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (pooler.settings_state, pooler.settings_reason) == (PoolState.APPLIED, "")
    assert (pooler.applied_processes, awaited(pooler)) == (numbers, "")


def again(pooler: Pooler) -> None:
    """Apply what is live once more."""
    pooler.edit(None, settings_state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert pooler.settings_state == PoolState.APPLIED


def restart_first(server: PgBouncerServer, version: tuple[int, int], others: Callable[[], object]) -> None:
    """Do what the page says where it runs without so_reuseport, and start the others."""
    if version < LEAVES_CLIENTS:
        server.stop()
        server.start()
        others()
        return
    assert server.process
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    others()


def sessions_of(pooler: Pooler, processes: int) -> list[psycopg.Connection]:
    """Sessions through the port, several for each process."""
    address = {"host": pooler.host, "port": pooler.port, "user": "app", "password": APP_PASSWORD, "dbname": "orders"}
    return [psycopg.connect(**address, autocommit=True) for _number in range(4 * processes)]


def cancelled(session: psycopg.Connection) -> bool:
    """Whether a cancel request through the port reaches the query of a session."""
    outcome: list[bool] = []

    def work() -> None:
        try:
            session.execute("SELECT pg_sleep(1.5)")
            outcome.append(False)
        except psycopg.errors.QueryCanceled:
            outcome.append(True)

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(0.3)
    session.cancel()
    worker.join()
    return outcome == [True]


def complaints(plan: ProcessPlan, folder: Path) -> str:
    """What systemd says of an instance of the template unit; empty for nothing."""
    path = folder / plan.unit_name.replace("@", "@2")
    path.write_text(plan.unit)
    words = ["systemd-analyze", "verify", "--man=no", str(path)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    path.unlink()
    return "".join(line for line in found.stderr.splitlines(keepends=True) if line.startswith(str(path)))


@pytest.mark.slow
def test_one_becomes_three_and_then_two(
    pgbouncer: PgBouncerServer,
    pooler: Pooler,
    orders: Pool,
    instance: Callable[[int, str], Instance],
    log_in: LogIn,
    config_bytes: ConfigBytes,
    version: tuple[int, int],
    tmp_path: Path,
) -> None:
    poolers.check(pooler)
    before = config_bytes()["pgbouncer.ini"]
    ask(pooler, 3)
    assert "1 of 3 processes answers: the one that runs was started without so_reuseport" in awaited(pooler)
    assert [one["name"] for one in pooler.needs_restart] == ["so_reuseport"]
    files = config_bytes()
    again(pooler)
    assert config_bytes() == files
    assert files["pgbouncer.ini"].startswith(before.rstrip()[:40])
    plan = process_plan.planned(pooler, 3)
    assert plan.keeps_clients == (version >= LEAVES_CLIENTS)
    assert complaints(plan, tmp_path) == ""
    ended, *by_hand = plan.by_hand
    assert ended == f"kill -s INT {pgbouncer.process.pid}"
    assert [command.rpartition("/")[2] for command in by_hand] == ["pgbouncer-2.ini", "pgbouncer-3.ini"]

    # 1 → 3: those that are connected stay so where the release allows it
    load = Load(pooler, 8, tmp_path / "script.sql") if version >= LEAVES_CLIENTS else None
    time.sleep(1)
    started: list[Instance] = []
    restart_first(pgbouncer, version, lambda: started.extend(instance(number, plan.unit) for number in (2, 3)))
    assert {log_in("orders") for _ in range(6)} == {"app"}
    if load:
        assert load.transactions() > 0
        until(lambda: pgbouncer.process.poll() is not None)
        pgbouncer.start()
    read_back(pooler, [1, 2, 3])
    assert {log_in("orders") for _ in range(24)} == {"app"}
    assert sorted(one["peer_id"] or 0 for one in pooler.processes) == ([1, 2, 3] if version >= PEERS else [0, 0, 0])
    files = config_bytes()
    again(pooler)
    assert config_bytes() == files

    # each takes its share of new connections, and a cancel request finds its process
    assert Load(pooler, 3, tmp_path / "script.sql", "-C").transactions() > 0
    assert all(any(row[0] == "orders" and int(row[4] or 0) for row in one.shown("stats")) for one in started)
    if version >= PEERS:
        open_sessions = sessions_of(pooler, 3)
        assert all(map(cancelled, open_sessions))
        for session in open_sessions:
            session.close()

    # 3 → 2: the file of the third stays for as long as it runs
    ask(pooler, 2)
    assert awaited(pooler) == (
        "2 of the processes are asked for: stop that of pgbouncer-3.ini, whose file is removed after it"
    )
    assert "pgbouncer-3.ini" in config_bytes()
    load = Load(pooler, 5, tmp_path / "script.sql") if version >= LEAVES_CLIENTS else None
    time.sleep(1)
    started[1].process.send_signal(signal.SIGTERM)
    if load:
        assert load.transactions() > 0
    until(lambda: started[1].process.poll() is not None)
    read_back(pooler, [1, 2])
    assert "pgbouncer-3.ini" not in config_bytes()
    assert "pgbouncer-2.ini" in config_bytes()
    assert {log_in("orders") for _ in range(24)} == {"app"}
    assert state_of(orders) == (PoolState.APPLIED, "")
    drift.check(pooler)
    pooler.refresh_from_db()
    assert pooler.drift == []

    # grown again: the first runs with so_reuseport by now, so that nobody is disconnected on any release
    ask(pooler, 3)
    assert process_plan.planned(pooler, 3).keeps_clients
    load = Load(pooler, 4, tmp_path / "script.sql")
    time.sleep(0.5)
    instance(3, plan.unit)
    read_back(pooler, [1, 2, 3])
    assert load.transactions() > 0


@here
def test_a_file_of_the_operators_is_never_overwritten(
    pgbouncer: PgBouncerServer, pooler: Pooler, orders: Pool, config_bytes: ConfigBytes
) -> None:
    own = pgbouncer.config_dir / "pgbouncer-2.ini"
    account.write_private(own, "; mine\n")
    before = config_bytes()
    poolers.change(pooler, {"desired_processes": 2})
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert pooler.settings_state == PoolState.ROLLED_BACK
    assert "and pgbouncer-2.ini is not its own" in for_admins(pooler.settings_reason)
    assert config_bytes() == before
    pools.change(orders, {"size": 2}, None)
    deployment.apply_pooler(pooler)
    assert state_of(orders) == (PoolState.APPLIED, "")
    assert own.read_text() == "; mine\n"


@here
def test_an_included_file_that_sets_the_socket_again_is_named(
    pgbouncer: PgBouncerServer, pooler: Pooler, orders: Pool
) -> None:
    account.write_private(pgbouncer.config_dir / "more.ini", f"unix_socket_dir = {pgbouncer.socket_folder}\n[users]\n")
    main = pgbouncer.config_dir / "pgbouncer.ini"
    text = main.read_text().replace("\n\n; pools made", f"\n%include {pgbouncer.config_dir}/more.ini\n\n; pools made")
    account.write_private(main, text)
    poolers.change(pooler, {"desired_processes": 2})
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert pooler.settings_state == PoolState.ROLLED_BACK
    assert "process 2 needs a unix_socket_dir of its own" in for_admins(pooler.settings_reason)
    assert state_of(orders) == (PoolState.APPLIED, "")


@here
def test_an_edit_of_a_file_is_drift_and_one_of_the_first_reaches_the_others(
    pgbouncer: PgBouncerServer, pooler: Pooler, orders: Pool
) -> None:
    ask(pooler, 2)
    copy, main = pgbouncer.config_dir / "pgbouncer-2.ini", pgbouncer.config_dir / "pgbouncer.ini"
    kept = copy.read_text()
    account.write_private(copy, kept + "; edited\n")
    drift.check(pooler)
    pooler.refresh_from_db()
    assert {"where": "pgbouncer-2.ini", "what": "it was edited by hand"} in pooler.drift
    account.write_private(copy, kept)
    account.write_private(main, main.read_text().replace("max_client_conn = 2000", "max_client_conn = 2100"))
    drift.check(pooler)
    pooler.refresh_from_db()
    told = [one["what"] for one in pooler.drift]
    assert "pgbouncer-2.ini get what was changed in pgbouncer.ini with the next apply" in told
    again(pooler)
    assert "max_client_conn = 2100" in copy.read_text()


@here
def test_a_rollback_brings_the_number_back(pooler: Pooler, orders: Pool, config_bytes: ConfigBytes) -> None:
    revision = pooler.revisions.first()
    ask(pooler, 2)
    assert "processes 1 → 2" in pooler.revisions.first().summary
    rollback.roll_back(pooler, revision)
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (pooler.desired_processes, pooler.settings_state) == (1, PoolState.APPLIED)
    assert "pgbouncer-2.ini" not in config_bytes()
    assert awaited(pooler) == ""


@here
def test_a_unit_of_the_host_is_started_by_the_apply(
    pgbouncer: PgBouncerServer,
    pooler: Pooler,
    orders: Pool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    instance: Callable[[int, str], Instance],
) -> None:
    monkeypatch.setattr(worker, "PATH", f"{tmp_path}:{worker.PATH}")
    main, called = pgbouncer.config_dir / "pgbouncer-2.ini", tmp_path / "called"
    shown = f"LoadState=loaded\\nExecStart={{ argv[]=/usr/sbin/pgbouncer {main} ; status=0/0 }}\\n"
    script = tmp_path / "systemctl"
    script.write_text(f"#!/bin/sh\necho \"$*\" >> {called}\n[ $1 = show ] && printf '{shown}'\nexit 0\n")
    script.chmod(0o755)
    ask(pooler, 2)
    steps = {one["step"]: one["detail"] for one in pooler.revisions.first().steps}
    unit = f"pgbouncer-{pgbouncer.port}@2"
    assert steps["processes awaited"].startswith(f"{unit} can't listen on the port yet")
    pgbouncer.stop()
    pgbouncer.start()
    poolers.check(pooler)
    again(pooler)
    steps = {one["step"]: one["detail"] for one in pooler.revisions.first().steps}
    assert steps["processes started"] == unit
    assert called.read_text().splitlines()[-1] == f"enable --now {unit}"
    instance(2, process_plan.planned(pooler, 2).unit)
    read_back(pooler, [1, 2])
