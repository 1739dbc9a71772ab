"""`python -m panel.quickstart`, which script/up runs after everything is installed."""

import argparse
import logging
import os
import resource
import sys
from logging.handlers import RotatingFileHandler

import django
import psycopg
from django.core.exceptions import ImproperlyConfigured

from benchmarks.errors import BenchmarksError
from core.lib import core_dumps, env, gc_tuning
from panel.quickstart import page_files, rotated_logs, services, tls
from panel.quickstart.account import AccountMissing
from panel.quickstart.home import AlreadyRunning, Home
from panel.quickstart.panel_programs import Generator, Web, Worker, address, print_address, take_port
from panel.quickstart.ports import NoFreePort
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.progress import Steps
from panel.quickstart.supervise import StopRequested, Supervisor, catch_signals
from pools.errors import PoolsError

OPEN_FILES = 65536
# errors whose message tells the person what to do; any other error shows its traceback
FAILURES = (
    AccountMissing,
    AlreadyRunning,
    BenchmarksError,
    ImproperlyConfigured,
    NoFreePort,
    PoolsError,
    ProgramFailed,
    psycopg.Error,  # The demo raises it.
)


def port_number(word: str) -> int:
    """Parse a TCP port."""
    number = int(word)
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f"{number} is not a port: enter a number from 1 to 65535")
    return number


def command_line() -> argparse.ArgumentParser:
    """Return the parser of `--port N`, `--https`, `--once`, and the hidden `--since TIME` that script/up adds."""
    parser = argparse.ArgumentParser(
        prog="script/up" if env.IS_CHECKOUT else "pooldeck demo",
        description="Start the panel with private demo servers; Ctrl-C stops all of it.",
        epilog=f"State lies in POOLDECK_HOME (now {env.home()}); docs/reference/settings.md lists the other variables.",
    )
    parser.add_argument(
        "--port", type=port_number, help="where to serve (default 8000, or a free one when that is taken)"
    )
    parser.add_argument("--https", action="store_true", help="serve HTTPS, with a certificate of a private authority")
    parser.add_argument("--once", action="store_true", help="run the demo experiment, print its tables, stop")
    parser.add_argument("--since", type=float, help=argparse.SUPPRESS)
    return parser


def start(home: Home, supervisor: Supervisor, steps: Steps, options: argparse.Namespace) -> int:
    """Start everything; return the exit code where no signal ended it."""
    listener = take_port(options.port, steps)
    port: int = listener.getsockname()[1]
    home.write_holder(address(port, is_https=options.https))
    print_address(port, is_https=options.https)
    home.make_keys()
    tls_files = tls.ensure(home.path / "tls") if options.https else None
    if tls_files:
        steps.report(f"serving HTTPS: let clients trust the certificate authority {tls_files.authority}")
    servers = services.start(home, supervisor, steps)
    page_files.collect(home, steps)
    # importing takes each of them seconds; none is used before the migrations below are done
    steps.report("starting web, worker and generator")
    web = supervisor.start(Web(home.path, port, listener, tls_files))
    for program in (Worker(home.path), Generator(home.path)):
        supervisor.start(program)
    set_up_django(home)
    from panel.quickstart.serving import Serving  # imports models, which need Django set up

    panel = Serving(home, supervisor, steps, web)
    demo = panel.start_all(servers)
    gc_tuning.freeze_existing()
    return panel.experiment(demo) if options.once else panel.serve()


def set_up_django(home: Home) -> None:
    """Make models usable in this process, and send its log to quickstart.log."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    django.setup()
    path = home.log_folder / "quickstart.log"
    size, keep = rotated_logs.max_bytes(), rotated_logs.backup_count()
    handler = RotatingFileHandler(path, maxBytes=size, backupCount=keep)
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


def raise_open_file_limit() -> None:
    """Raise the soft limit of open files: the usual 1024 is too low for a PgBouncer with 1000 clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


def main() -> int:
    """Run script/up; return 0 if a signal ended it (or every arm of --once was valid), else 1."""
    options = command_line().parse_args(sys.argv[1:])
    steps = Steps(options.since)
    os.umask(0o077)
    raise_open_file_limit()
    core_dumps.forbid()
    catch_signals()
    try:
        with Home(env.home()).opened() as home, Supervisor(home) as supervisor:
            code = start(home, supervisor, steps, options)
            steps.report("stopping everything")
    except StopRequested as request:
        steps.report(f"stopped by {request}; nothing is left running")
        return 0
    except FAILURES as error:
        print(f"\nfailed while {steps.current}: {error}" if steps.current else f"\n{error}", file=sys.stderr)
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
