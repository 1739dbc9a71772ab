"""Two PgBouncers on one port: a pool is applied where both have it, and nowhere else."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from core.lib.private_text import for_admins
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, binary, free_port
from pools import deployment
from pools.inventory import pooler_settings, poolers
from pools.models import Pooler, PoolState
from pools.poolers import KINDS
from tests.live.conftest import TestPgBouncer
from tests.live.pools.conftest import LogIn, MakePool, state_of
from tests.live.standbys import until

LINES = "%include {0}/pooldeck_settings.ini\n%include {0}/pooldeck.ini"
ELSEWHERE = "its main file lies elsewhere"
pytestmark = pytest.mark.django_db(transaction=True)


class Second(TestPgBouncer):
    """A second process on the port of the first, with a main file of its own in the same folder."""

    __test__ = False
    main_folder: Path | None = None  # the folder, where it differs from the first process's

    @property
    def argv(self) -> list[str]:
        """Its main file is pgbouncer-2.ini."""
        return [self.binary, str(self.main_file)]

    @property
    def main_file(self) -> Path:
        """The file that it is started with."""
        return (self.main_folder or self.config_dir) / "pgbouncer-2.ini"

    def prepare(self) -> None:
        """Leave the files of the first as they are."""
        account.make_folder(self.socket_folder)

    def take(self, users: str) -> None:
        """Give it other users, and have it read them."""
        account.write_private(self.config_dir / "users-2.txt", users)
        assert self.process
        self.process.send_signal(signal.SIGHUP)

    def takes_its_admin(self) -> bool:
        """Whether this process itself lets the console's user in."""
        address = {"host": str(self.socket_folder), "port": self.port, "dbname": "pgbouncer"}
        try:
            psycopg.connect(user=self.admin_user, password=self.admin_password, autocommit=True, **address).close()
        except psycopg.OperationalError:
            return False
        return True


@pytest.fixture
def pgbouncer(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """The first of two processes that share the port."""
    server = TestPgBouncer(tmp_path_factory.mktemp("pgbouncer"), free_port(), "pooldeck", "console-password", program)
    server.own_settings = {"so_reuseport": 1}
    with server:
        yield server


@pytest.fixture
def second(
    request: pytest.FixtureRequest, pgbouncer: PgBouncerServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Second]:
    """The second one; with a parameter, that is its own list of users, or `ELSEWHERE` for its main file."""
    home = tmp_path_factory.mktemp("second")
    made = Second(home, pgbouncer.port, "pooldeck", "console-password", pgbouncer.binary)
    made.config_dir = pgbouncer.config_dir
    first = (made.config_dir / "pgbouncer.ini").read_text()
    own = first.replace(f"unix_socket_dir = {pgbouncer.socket_folder}", f"unix_socket_dir = {made.socket_folder}")
    own = own.replace(f"{pgbouncer.home}/pgbouncer.pid", f"{home}/pgbouncer.pid")
    users = getattr(request, "param", "")
    if users not in ("", ELSEWHERE):
        account.write_private(made.config_dir / "users-2.txt", users)
        own = own.replace("userlist.txt", "users-2.txt")
    made.main_folder = home if users == ELSEWHERE else None
    account.write_private(made.main_file, own)
    with made:
        yield made


@pytest.mark.parametrize("second", [ELSEWHERE], indirect=True)
def test_a_pool_that_one_of_two_processes_would_not_get_is_refused(
    second: Second, pooler: Pooler, make_pool: MakePool
) -> None:
    pool = make_pool()
    deployment.apply_pooler(pooler)
    state, reason = state_of(pool)
    assert state == PoolState.ROLLED_BACK
    assert reason == (
        "2 processes share the port (so_reuseport), and a pool is applied only where each of them has it; the one of "
        "pgbouncer-2.ini does not read it: add at the end of its [pgbouncer] section "
        + LINES.format(second.config_dir).replace("\n", ", ")
    )
    poolers.check(pooler)
    assert [one["name"] for one in pooler.processes] == ["pgbouncer-2.ini", "pgbouncer.ini"]
    assert pooler.processes_note.startswith(f"2 processes share port {pooler.port} (so_reuseport): an apply reloads")


def test_a_pool_that_both_processes_read_is_applied_to_both(
    second: Second, pooler: Pooler, make_pool: MakePool, log_in: LogIn
) -> None:
    ini = second.main_file
    before = ini.read_text()
    pool = make_pool()
    pooler_settings.change_settings(pooler, {"server_lifetime": 1800})
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert {log_in("orders") for _ in range(24)} == {"app"}
    assert LINES.format(second.config_dir) in ini.read_text().replace("\n\n; pools made in Pooldeck", "")
    assert set(before.splitlines()) <= set(ini.read_text().splitlines())
    texts = {name: (second.config_dir / name).read_text() for name in ("pooldeck.ini", "pooldeck_settings.ini")}
    assert KINDS[pooler.kind].compare(pooler, texts) == {}
    assert KINDS[pooler.kind].compare_program(pooler, texts) == []
    account.write_private(ini, ini.read_text().replace("%include", ";%include"))
    for _ in range(24):
        with second.connect() as console:
            console.execute(b"RELOAD")
    of_second = "the process of pgbouncer-2.ini: the pooler has"
    assert KINDS[pooler.kind].compare(pooler, texts) == {pool.pk: f"{of_second} no pool orders"}
    assert f"{of_second} server_lifetime 3600, not 1800" in KINDS[pooler.kind].compare_program(pooler, texts)


def test_one_process_that_would_share_its_port_is_as_any(pooler: Pooler, make_pool: MakePool) -> None:
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    poolers.check(pooler)
    assert (len(pooler.processes), pooler.processes_note) == (1, "")


@pytest.mark.parametrize("second", ['"pooldeck" "console-password"\n'], indirect=True)
def test_a_process_that_refuses_the_console_login_is_named(
    second: Second, pooler: Pooler, make_pool: MakePool, program: str
) -> None:
    assert poolers.check(pooler) == ""
    second.take('"pooldeck" "another-password"\n')
    assert until(lambda: not second.takes_its_admin(), 10)
    pool = make_pool()
    deployment.apply_pooler(pooler)
    state, reason = state_of(pool)
    assert state == PoolState.PENDING
    assert reason.startswith(
        f"several processes share port {pooler.port} (so_reuseport), and not all take the console login of pooldeck: "
    )
    assert "; let its auth_file and admin_users know pooldeck as those of the others do and RELOAD it" in reason
    if program == binary("pgbouncer"):  # the others run under a loader, as which no process is looked for
        named = f"({second.config_dir}/pgbouncer-2.ini, socket {second.socket_folder}/.s.PGSQL.{pooler.port}): "
        assert named in reason
        assert f"{second.config_dir}/pgbouncer.ini" not in reason
    assert for_admins(poolers.check(pooler)) == reason
    second.take('"pooldeck" "console-password"\n')
    assert until(second.takes_its_admin, 10)
    deployment.apply_pooler(pooler)
    assert state_of(pool)[1].startswith("2 processes share the port (so_reuseport), and a pool is applied only where")
