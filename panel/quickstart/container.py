"""The containers of docker/compose.yaml beside web, worker and beat: both poolers, and the one-time set-up.

`python -m panel.quickstart.container pgbouncer` is the pooler; with the word `check` after it, a login to it.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import django
from django.core.management import call_command

from core.lib import env
from panel.quickstart.home import Home
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.ports import LOOPBACK
from panel.quickstart.servers import PgBouncerServer, PostgresServer, Server
from panel.quickstart.services import CONSOLE_USER, DEMO_ROLE, DemoServers

ANYWHERE = "0.0.0.0"  # noqa: S104 (inside its container; compose.yaml publishes no port of theirs)
PORTS = {"demo-postgres": 5432, "pgbouncer": 6432, "pgpool": 9999, "pcp": 9898}


def describe(home: Path) -> DemoServers:
    """Return the servers of compose.yaml, by the host names of their services."""
    password = env.text("POOLDECK_COMPOSE_PASSWORD")
    postgres = PostgresServer(home / "postgres", PORTS["demo-postgres"], password=password, bindir=Path("/"))
    pgbouncer = PgBouncerServer(home / "pgbouncer", PORTS["pgbouncer"], CONSOLE_USER, password)
    logins = {postgres.superuser: password, DEMO_ROLE: password}
    pgpool = PgpoolServer(home / "pgpool", PORTS["pgpool"], PORTS["pcp"], postgres, logins)
    postgres.host, pgbouncer.host, pgpool.host = "demo-postgres", "pgbouncer", "pgpool"
    return DemoServers(postgres, pgbouncer, pgpool, password)


def exec_server(server: Server) -> None:
    """Prepare the server to listen for the other containers, and replace this process with it."""
    server.host = ANYWHERE
    server.prepare()
    os.execv(server.argv[0], server.argv)  # noqa: S606 (our own words)


def probe(server: Server) -> None:
    """Log in to the server of this container; raises its error."""
    server.host = LOOPBACK
    server.probe()


def set_up(servers: DemoServers) -> None:
    """Set up keys, database, static files, the admin and the demo, and queue its dataset; idempotent."""
    home = Home(env.home())
    home.open()
    home.make_keys()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    django.setup()
    from panel import start  # imports models, which need Django set up
    from panel.quickstart import admin
    from panel.quickstart.demo import Demo

    call_command("migrate", verbosity=1, interactive=False)
    start.recognize_a_copy(home.path)  # The check comes before the demo's poolers are registered.
    call_command("collectstatic", verbosity=1, interactive=False, clear=True)
    user, logins = admin.ensure(home, env.text("POOLDECK_ADMIN_PASSWORD"))
    home.write_quickstart({"url": "http://localhost:8000", **logins})
    demo = Demo(home, servers, user)
    demo.register()
    if demo.needs_dataset():
        demo.ask_for_dataset()
        demo.dataset_is_asked_for()


ROLES: dict[str, Callable[[DemoServers], None]] = {
    "pgbouncer": lambda servers: exec_server(servers.pgbouncer),
    "pgpool": lambda servers: exec_server(servers.pgpool),
    "setup": set_up,
}
# A pooler's health check; it ends with a traceback and exit code 1 where the login fails.
CHECKS: dict[str, Callable[[DemoServers], None]] = {
    "pgbouncer": lambda servers: probe(servers.pgbouncer),
    "pgpool": lambda servers: probe(servers.pgpool),
}

if __name__ == "__main__":
    (CHECKS if sys.argv[2:] == ["check"] else ROLES)[sys.argv[1]](describe(env.home()))
