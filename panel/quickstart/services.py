"""The private servers of an installation, started in parallel."""

import json
import os
import sys
from dataclasses import dataclass

from core.lib import env, private_files
from panel.quickstart.home import Home
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.progress import Steps
from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer
from panel.quickstart.supervise import Supervisor

CONSOLE_USER = "pooldeck"
DEMO_CLUSTER, DEMO_ROLE = "demo", "app"
RESTART_FILE = """\
# Written at each start of script/up. For commands of your own, set POOLDECK_RESTART_FILE to another file.
[restart]
{cluster} = {command}
"""


@dataclass(frozen=True)
class DemoServers:
    """The servers of the demo, and the password of its role."""

    postgres: PostgresServer
    pgbouncer: PgBouncerServer
    pgpool: PgpoolServer
    role_password: str

    def wait_until_ready(self) -> None:
        """Wait until each answers a login; raises `ProgramFailed`."""
        for server in (self.postgres, self.pgbouncer, self.pgpool):
            server.wait_until_ready()


def start(home: Home, supervisor: Supervisor, steps: Steps) -> DemoServers:
    """Spawn all servers without waiting for them; set REDIS_URL unless it is set."""
    start_redis(home, supervisor, steps)
    allow_restart(home)
    if not (home.path / "postgres").exists():
        steps.report("creating the demo PostgreSQL")
    demo = describe(home)
    servers = (demo.postgres, demo.pgbouncer, demo.pgpool)
    steps.report("starting " + ", ".join(f"{server} on port {server.port}" for server in servers))
    for server in servers:
        supervisor.start(server)
    return demo


def start_redis(home: Home, supervisor: Supervisor, steps: Steps) -> None:
    """Start the panel's own Redis, unless REDIS_URL names another."""
    if env.text("REDIS_URL"):
        return
    redis = RedisServer(home.path / "redis", home.port("redis"), home.password("redis"))
    steps.report(f"starting redis on port {redis.port}")
    supervisor.start(redis)
    os.environ["REDIS_URL"] = redis.url


def allow_restart(home: Home) -> None:
    """Let settings profiles restart the demo's PostgreSQL, unless POOLDECK_RESTART_FILE names the user's own file."""
    if env.text("POOLDECK_RESTART_FILE"):
        return
    module = [sys.executable, "-m", "panel.quickstart.restart_postgres", str(home.path)]
    command = json.dumps(["env", f"--chdir={env.BASE_DIR}", *module], ensure_ascii=False)
    path = home.path / "restart.toml"
    private_files.replace(path, RESTART_FILE.format(cluster=DEMO_CLUSTER, command=command))
    os.environ["POOLDECK_RESTART_FILE"] = str(path)


def describe(home: Home) -> DemoServers:
    """Return the servers with the ports and passwords that the home remembers."""
    postgres = PostgresServer(
        home.path / "postgres", home.port("postgres"), password=home.password("postgres"), lets_in_md5=True
    )
    role_password = home.password(DEMO_ROLE)
    pgbouncer = PgBouncerServer(
        home.path / "pgbouncer", home.port("pgbouncer"), CONSOLE_USER, home.password("pgbouncer")
    )
    pgbouncer.own_settings = {"server_login_retry": 3}  # the default of 15 s delays the return of a restarted server
    logins = {postgres.superuser: postgres.password, DEMO_ROLE: role_password}
    pgpool = PgpoolServer(home.path / "pgpool", home.port("pgpool"), home.port("pcp"), postgres, logins)
    return DemoServers(postgres, pgbouncer, pgpool, role_password)
