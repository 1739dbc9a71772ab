"""A running PgBouncer on a host that only sshd leads to: its files lie where this process may not look."""

from collections.abc import Iterator

import pytest

from panel.quickstart.servers import PostgresServer, binary, free_port
from pools.hosts import atomic_write, kept, keys, worker
from pools.inventory import hosts, poolers
from pools.models import Cluster, Host, Pooler
from tests.live.conftest import APP_PASSWORD
from tests.live.pools.deployment.take_over.conftest import (
    CONSOLE,
    OperatorsPgBouncer,
    cluster,
    server,
)
from tests.live.pools.deployment.take_over.layouts import Layout
from tests.live.pools.hosts.conftest import reachable, registered
from tests.live.sshds import CuttingProxy, SshServer

__all__ = ["cluster", "server"]
LAYOUT = Layout(
    "by ssh",
    {
        "pgbouncer.ini": """[databases]
app = host=@PGHOST@ port=@PGPORT@ dbname=app
* = host=@PGHOST@ port=@PGPORT@

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = @PORT@
unix_socket_dir =
auth_type = md5
auth_file = @DIR@/userlist.txt
admin_users = pooldeck
ignore_startup_parameters = extra_float_digits
logfile = @DIR@/pgbouncer.log
pidfile = @DIR@/pgbouncer.pid
""",
        "userlist.txt": f'"pooldeck" "console-password"\n"app" "{APP_PASSWORD}"\n',
    },
    {"app": "pool", "*": "kept"},
)


@pytest.fixture(autouse=True)
def own_logins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No login of another test is kept, and nothing reads or writes files but by SSH.

    A new login is tried as often as an old one is refused a tunnel.
    """
    kept.close_all()
    for name in ("RENEWED_EVERY_S", "SOCKETS_RENEWED_EVERY_S"):
        monkeypatch.setattr(kept, name, 0.0)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a file was touched on this host")

    for name in ("read", "replace", "refuse_unsafe"):
        monkeypatch.setattr(atomic_write, name, forbidden)
    monkeypatch.setattr(worker.WorkerConnection, "file_at", forbidden)
    yield
    kept.close_all()


@pytest.fixture
def release() -> str:
    """Which PgBouncer; this system's."""
    return "installed"


@pytest.fixture
def program(request: pytest.FixtureRequest, release: str) -> str:
    """The program of the release."""
    return binary("pgbouncer") if release == "installed" else str(request.getfixturevalue(release))


@pytest.fixture
def own(server: PostgresServer, program: str) -> Iterator[OperatorsPgBouncer]:
    """The operator's PgBouncer, of the account that sshd lets in."""
    words = {"@PGHOST@": server.host, "@PGPORT@": str(server.port), "@SOCKETS@": str(server.socket_folder)}
    with reachable() as home, OperatorsPgBouncer(home, LAYOUT, program, words) as started:
        yield started


@pytest.fixture
def sshd() -> Iterator[SshServer]:
    """The host's sshd."""
    with reachable() as home, SshServer(home, free_port()) as started:
        yield started


@pytest.fixture
def proxy(sshd: SshServer) -> Iterator[CuttingProxy]:
    """What the panel's connection to the host goes through."""
    made = CuttingProxy(sshd.port)
    yield made
    made.close()


@pytest.fixture
def host(sshd: SshServer, proxy: CuttingProxy, db: None) -> Host:
    """The host as the panel knows it."""
    return hosts.change(registered(sshd), {"port": proxy.port})


@pytest.fixture
def watched(own: OperatorsPgBouncer, host: Host, sshd: SshServer, cluster: Cluster) -> Pooler:
    """The PgBouncer, known by its console alone, which is reached through a tunnel."""
    pooler, _problem = poolers.register(
        {
            "name": "own",
            "host": own.host,
            "port": own.port,
            "admin_user": CONSOLE[0],
            "admin_password": CONSOLE[1],
            "delivery": "ssh",
            "ssh_host": host,
        }
    )
    sshd.let_in(keys.authorized_keys_line(host))  # The line opens the console's port now.
    assert poolers.check(pooler) == ""
    pooler.refresh_from_db()
    return pooler
