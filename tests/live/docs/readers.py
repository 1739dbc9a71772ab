"""What readers of the documents have beside a panel: PgBouncers of their own, a host, and variables that name them."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from panel.quickstart.home import Home
from panel.quickstart.servers import free_port
from tests.installation import ROOT, Installation
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer
from tests.live.pools.deployment.take_over.layouts import LISTENING, Layout
from tests.live.pools.hosts.conftest import reachable
from tests.live.sshds import SshServer
from tests.programs import heads

CONSOLE_PASSWORD = "console-password"
SETTINGS = f"""
[pgbouncer]
{LISTENING}auth_type = scram-sha-256
auth_file = @DIR@/userlist.txt
ignore_startup_parameters = extra_float_digits
logfile = @DIR@/pgbouncer.log
"""
USERS = f'"pooldeck" "{CONSOLE_PASSWORD}"\n"app" "@PASSWORD@"\n'
# an entry that becomes a pool, and one that stays
SHOP = f"[databases]\nshop = host=@PGHOST@ port=@PGPORT@ dbname=app\n* = host=@PGHOST@ port=@PGPORT@\n{SETTINGS}"
WEB = f"[databases]\nweb = host=@PGHOST@ port=@PGPORT@ dbname=app pool_size=4\n{SETTINGS}"
# what readers set themselves, as the pages that need it tell them
READERS = {"POOLDECK_URL", "POOLDECK_TOKEN", "CONSOLE_PASSWORD", "ADMIN_PASSWORD"}
READERS |= {"PGBOUNCER_HOST", "PGBOUNCER_PORT", "SECOND_PORT", "HOST_ADDRESS", "HOST_PORT", "HOST_USER", "ON_HOST"}


@contextmanager
def reader(started: Installation, folder: Path) -> Iterator[dict[str, str]]:
    """Start what a reader has beside the panel; yield the panel's environment and the variables of all pages."""
    programs = folder / "bin"
    programs.mkdir()
    _write_programs(programs)
    with ExitStack() as stack:
        shop, web = (stack.enter_context(_pgbouncer(stack, text, started.home)) for text in (SHOP, WEB))
        sshd = stack.enter_context(SshServer(stack.enter_context(reachable()), free_port()))
        (sshd.home / ".ssh").symlink_to(sshd.home)
        _write_program(programs / "on-host", f'HOME={sshd.home} exec sh -c "$1"')
        yield {
            **environment(started),
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "POOLDECK_URL": started.url,
            "POOLDECK_TOKEN": started.api.token,
            "PGBOUNCER_HOST": shop.host,
            "PGBOUNCER_PORT": str(shop.port),
            "SECOND_PORT": str(web.port),
            "CONSOLE_PASSWORD": CONSOLE_PASSWORD,
            "ADMIN_PASSWORD": CONSOLE_PASSWORD,
            "HOST_ADDRESS": sshd.host,
            "HOST_PORT": str(sshd.port),
            "HOST_USER": sshd.user,
            "ON_HOST": "on-host",
        }


def _pgbouncer(stack: ExitStack, text: str, home: Path) -> OperatorsPgBouncer:
    """Return a PgBouncer of these files, not started, in a folder that the account of an sshd can enter."""
    demo = Home(home)
    demo.read()
    words = {"@PGHOST@": "127.0.0.1", "@PGPORT@": str(demo.kept("ports", "postgres"))}
    files = {"pgbouncer.ini": text, "userlist.txt": USERS.replace("@PASSWORD@", demo.kept("passwords", "app"))}
    return OperatorsPgBouncer(stack.enter_context(reachable()), Layout("of a reader", files, {}), None, words)


def _write_programs(folder: Path) -> None:
    """Put the programs of an installation on the PATH: the client and manage.py."""
    (folder / "pooldeck").symlink_to(ROOT / "script" / "pooldeck")
    _write_program(folder / "pooldeckctl", f'exec {sys.executable} {ROOT}/manage.py "$@"')


def environment(started: Installation) -> Mapping[str, str]:
    """Return the environment of the installation's worker."""
    text = Path(f"/proc/{heads(started)['worker']}/environ").read_text()
    return dict(variable.split("=", 1) for variable in text.split("\0") if variable)


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
