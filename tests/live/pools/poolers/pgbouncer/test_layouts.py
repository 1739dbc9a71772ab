"""PgBouncers as they lie in the world: each works, or says what is in the way; none is called applied and is not."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, binary, free_port
from pools import deployment
from pools.inventory import poolers
from pools.models import Pooler, PoolerState, PoolState
from tests.live.conftest import TestPgBouncer
from tests.live.pools.conftest import LogIn, MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)


class Laid(TestPgBouncer):
    """A PgBouncer whose files lie as `lay` has it, started in the folder `started_in` by the name `main`."""

    __test__ = False
    lay: Callable[["Laid"], None]
    started_in: Path | None = None
    main = ""

    @property
    def working_folder(self) -> Path:
        """Where relative paths begin."""
        return self.started_in or super().working_folder

    @property
    def argv(self) -> list[str]:
        """With its main file as somebody gave it."""
        return [self.binary, self.main or str(self.config_dir / "pgbouncer.ini")]

    def prepare(self) -> None:
        """Write the usual files, then lay them out."""
        super().prepare()
        self.lay()

    def edit(self, before: str, after: str) -> None:
        """Replace what a line begins with."""
        ini = self.config_dir / "pgbouncer.ini"
        lines = [after if line.startswith(before) else line for line in ini.read_text().splitlines()]
        account.write_private(ini, "\n".join([*lines, ""]))


def relative(server: Laid) -> None:
    """Start it in its own folder, with relative names for all."""
    server.started_in, server.main = server.config_dir, "pgbouncer.ini"
    server.edit("auth_file", "auth_file = userlist.txt")
    server.edit("pidfile", "pidfile = pgbouncer.pid\nlogfile = pgbouncer.log")


def relative_to_the_home(server: Laid) -> None:
    """Start it above its folder."""
    server.started_in, server.main = server.home, "config/pgbouncer.ini"
    server.edit("auth_file", "auth_file = ./config/userlist.txt")


def with_relative_includes(server: Laid) -> None:
    """Include a file by a path from its working directory."""
    relative(server)
    account.make_folder(server.config_dir / "conf.d")
    account.write_private(
        server.config_dir / "conf.d" / "pooling.ini", "default_pool_size = 7\n%include conf.d/more.ini\n"
    )
    account.write_private(server.config_dir / "conf.d" / "more.ini", "reserve_pool_size = 2\n")
    server.edit("max_client_conn", "%include conf.d/pooling.ini\nmax_client_conn = 300")


def without_a_socket(server: Laid) -> None:
    server.edit("unix_socket_dir", "unix_socket_dir =")


def with_its_socket_elsewhere(server: Laid) -> None:
    account.make_folder(server.home / "run")
    server.edit("unix_socket_dir", f"unix_socket_dir = {server.home}/run")


def on_ipv6_alone(server: Laid) -> None:
    server.host = "::1"
    server.edit("listen_addr", "listen_addr = ::1")


WORK = [
    relative,
    relative_to_the_home,
    with_relative_includes,
    without_a_socket,
    with_its_socket_elsewhere,
    on_ipv6_alone,
]


@pytest.fixture
def make_laid(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Laid]]:
    """Starts PgBouncers by their layout."""
    started: list[Laid] = []

    def make(lay: Callable[[Laid], None], path: str = program) -> Laid:
        home = tmp_path_factory.mktemp("laid")
        server = Laid(home, free_port(), "pooldeck", "console-password", path)
        server.lay = lay.__get__(server)
        started.append(server)
        server.start()
        return server

    yield make
    for server in started:
        server.stop()


@pytest.fixture
def pgbouncer(request: pytest.FixtureRequest, make_laid: Callable[..., Laid]) -> PgBouncerServer:
    """One of the layout that the test is about."""
    return make_laid(request.param)


@pytest.mark.parametrize("pgbouncer", WORK, indirect=True, ids=lambda lay: lay.__name__)
def test_a_pool_and_a_setting_work(pgbouncer: Laid, pooler: Pooler, make_pool: MakePool, log_in: LogIn) -> None:
    assert poolers.check(pooler) == ""
    pooler.edit(None, settings={"server_idle_timeout": 55}, settings_state=PoolState.PENDING)
    pool = make_pool()
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (state_of(pool), pooler.settings_reason) == ((PoolState.APPLIED, ""), "")
    assert log_in("orders") == "app"
    with pgbouncer.connect() as console:
        live = {row[0]: row[1] for row in console.execute(b"SHOW CONFIG")}
    assert live["server_idle_timeout"] == "55"
    pgbouncer.stop()
    pgbouncer.start()  # The new process knows its files only.
    assert log_in("orders") == "app"


def without_an_auth_file(server: Laid) -> None:
    server.edit("auth_file", "")
    server.edit("auth_type", "auth_type = any")


def with_another_auth_file(server: Laid) -> None:
    (server.config_dir / "userlist.txt").rename(server.config_dir / "users.txt")
    server.edit("auth_file", f"auth_file = {server.config_dir}/users.txt")


def with_a_main_file_of_another_name(server: Laid) -> None:
    (server.config_dir / "pgbouncer.ini").rename(server.config_dir / "orders.ini")
    server.main = str(server.config_dir / "orders.ini")


def beside_another_main_file(server: Laid) -> None:
    """One of several in a folder, of which another one has the usual name."""
    account.write_private(server.config_dir / "orders.ini", (server.config_dir / "pgbouncer.ini").read_text())
    server.main = str(server.config_dir / "orders.ini")


def with_a_link_to_its_main_file(server: Laid) -> None:
    (server.config_dir / "pgbouncer.ini").rename(server.home / "real.ini")
    (server.config_dir / "pgbouncer.ini").symlink_to(server.home / "real.ini")


REFUSED = [
    (
        without_an_auth_file,
        "PgBouncer has no auth_file, in which the panel lists the users of its pools: set auth",
    ),
    (with_another_auth_file, "its auth_file (now {dir}/users.txt) must be {dir}/userlist.txt"),
    (
        with_a_main_file_of_another_name,
        "PgBouncer runs with {dir}/orders.ini, and the panel writes to a main file",
    ),
    (beside_another_main_file, "PgBouncer runs with {dir}/orders.ini, and the panel writes to a main file"),
    (with_a_link_to_its_main_file, "pgbouncer.ini is a symbolic link to {home}/real.ini: put the file itself there"),
]


@pytest.mark.parametrize(
    ("pgbouncer", "reason"), REFUSED, indirect=["pgbouncer"], ids=[lay.__name__ for lay, _ in REFUSED]
)
def test_what_can_not_work_is_refused_with_the_remedy_and_nothing_is_written(
    pgbouncer: Laid, reason: str, pooler: Pooler, make_pool: MakePool
) -> None:
    before = {path: path.read_bytes() for path in pgbouncer.config_dir.iterdir()}
    assert reason.format(dir=pgbouncer.config_dir, home=pgbouncer.home) in poolers.check(pooler)
    assert pooler.state == PoolerState.ONLINE
    pool = make_pool()
    deployment.apply_pooler(pooler)
    state, said = state_of(pool)
    assert state == PoolState.ROLLED_BACK
    assert reason.format(dir=pgbouncer.config_dir, home=pgbouncer.home) in said
    assert {path: path.read_bytes() for path in pgbouncer.config_dir.iterdir()} == before
    login = {"user": "pooldeck", "password": "console-password"}
    with pytest.raises(psycopg.OperationalError, match=r"orders|bouncer config error"):
        psycopg.connect(host=pooler.host, port=pooler.port, dbname="orders", **login)


def in_another_folder(server: Laid) -> None:
    """Relative names, from a folder with copies of the files that the panel knows."""
    relative(server)
    server.started_in = server.home / "elsewhere"
    account.make_folder(server.started_in)
    for name in ("pgbouncer.ini", "userlist.txt"):
        account.write_private(server.started_in / name, (server.config_dir / name).read_text())


@pytest.mark.parametrize("pgbouncer", [in_another_folder], indirect=True, ids=["copies"])
def test_files_that_it_does_not_read_are_not_taken_for_its_own(
    pgbouncer: Laid, pooler: Pooler, make_pool: MakePool
) -> None:
    before = {path: path.read_bytes() for path in pgbouncer.config_dir.iterdir()}
    pool = make_pool()
    deployment.apply_pooler(pooler)
    state, said = state_of(pool)
    assert state == PoolState.ROLLED_BACK
    if pgbouncer.binary == binary("pgbouncer"):  # the others run under a loader, as which no process is looked for
        assert f"PgBouncer reads {pgbouncer.started_in}/pgbouncer.ini, which is another file than" in said
        assert {path: path.read_bytes() for path in pgbouncer.config_dir.iterdir()} == before
