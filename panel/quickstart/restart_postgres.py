"""`python -m panel.quickstart.restart_postgres HOME`: restarts the demo's PostgreSQL, for POOLDECK_RESTART_FILE.

The supervisor of script/up starts it again: the command requests that, ends the postmaster by a fast shutdown (SIGINT),
and returns once the next one accepts a login.
"""

import os
import signal
import sys
import time
from pathlib import Path

from panel.quickstart import leftovers
from panel.quickstart.home import Home
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.servers import PostgresServer

UP_WITHIN_S = 90.0  # shorter than the deadline that the panel gives the command
POLL_EVERY_S = 0.1


def restart(home: Home, within_s: float = UP_WITHIN_S) -> None:
    """End the postmaster and wait for the next one; raises `ProgramFailed` where none accepts a login in time."""
    server = running_server(home)
    lock = server.cluster_folder / "postmaster.pid"
    before = leftovers.postmaster_of(lock)
    if before is None or before not in leftovers.working_in(server.cluster_folder):
        raise ProgramFailed(f"no PostgreSQL runs in {server.cluster_folder}: start script/up")
    request = home.restart_request(server.name)
    request.touch(mode=0o600)
    try:
        os.kill(before, signal.SIGINT)
        _wait_for_the_next(server, lock, before, within_s)
    finally:
        request.unlink(missing_ok=True)


def running_server(home: Home) -> PostgresServer:
    """Return the demo's server with the port and password that the home remembers."""
    port, password = home.kept("ports", PostgresServer.name), home.kept("passwords", PostgresServer.name)
    if port is None or password is None:
        raise ProgramFailed(f"{home.path} has no PostgreSQL: start script/up")
    return PostgresServer(home.path / PostgresServer.name, port, password=password)


def _wait_for_the_next(server: PostgresServer, lock: Path, before: int, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    reason = "the old one has not ended"
    while time.monotonic() < deadline:
        if leftovers.postmaster_of(lock) not in (None, before):
            try:
                return server.probe()
            except server.not_ready as error:
                reason = str(error).strip()
        time.sleep(POLL_EVERY_S)
    log = server.home.parent / "log" / f"{server.name}.log"
    raise ProgramFailed(f"PostgreSQL was not up again after {within_s:.0f} s ({reason}): the log is {log}")


def main() -> int:
    """Restart the server of the home named on the command line; return 0 once it accepts a login, else 1."""
    home = Home(Path(sys.argv[1]))
    home.read()
    try:
        restart(home)
    except (ProgramFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
