"""The trial instance is the very program that runs, also where no path leads to it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer, PostgresServer, binary, free_port
from pools import deployment
from pools.models import Pooler, Revision
from pools.poolers import local_process
from pools.poolers.pgbouncer import preflight
from pools.poolers.pgpool import preflight as pgpool_preflight
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.live.pools.conftest import MakePool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def off_the_path() -> Iterator[Path]:
    """Copies of both programs, in a folder that every account may enter."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for program in ("pgbouncer", "pgpool"):
            shutil.copy(Path(binary(program)).resolve(), folder / program)
        yield folder


@pytest.fixture
def pgbouncer(off_the_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """One that runs that copy."""
    home = tmp_path_factory.mktemp("pgbouncer")
    with PgBouncerServer(home, free_port(), "pooldeck", "console-password", str(off_the_path / "pgbouncer")) as server:
        yield server


@pytest.fixture
def own_pgpool(
    off_the_path: Path, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PgpoolServer]:
    """One that runs that copy."""
    passwords = {postgres.superuser: postgres.password, APP_ROLE: APP_PASSWORD}
    home = tmp_path_factory.mktemp("pgpool")
    with PgpoolServer(home, free_port(), free_port(), postgres, passwords, str(off_the_path / "pgpool")) as server:
        yield server


def preflight_of(revision: Revision) -> str:
    """What the revision says of its preflight."""
    return next(step["detail"] for step in revision.steps if step["step"] == "preflight passed").partition("; ")[2]


def test_a_pgbouncer_off_the_path_runs_the_preflight(
    off_the_path: Path, make_pool: MakePool, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "SEARCH_PATH", "/nowhere")
    make_pool()
    program = off_the_path / "pgbouncer"
    assert preflight_of(deployment.apply_pooler(pooler)) == f"a trial instance started on the files ({program})"


def test_a_pgpool_off_the_path_runs_the_preflight(
    off_the_path: Path, make_pool: MakePool, pgpool_pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pgpool_preflight, "SEARCH_PATH", "/nowhere")
    make_pool(pooler=pgpool_pooler, mode="session")
    found = preflight_of(deployment.apply_pooler(pgpool_pooler))
    assert found == f"a trial instance started on the files ({off_the_path / 'pgpool'})"


def denied(process: psutil.Process) -> str:
    raise psutil.AccessDenied(process.pid)


def test_a_program_that_may_not_be_read_is_said_so(
    make_pool: MakePool, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "SEARCH_PATH", "/nowhere")
    monkeypatch.setattr(psutil.Process, "exe", denied)  # as another account sees it
    make_pool()
    revision = deployment.apply_pooler(pooler)
    reported = "runs on this host, but this account can't read or start the program of its process, "
    reported += "or the process belongs to neither root nor the owner of the pooler's folder"
    assert preflight_of(revision) == f"no trial instance: {pooler.server_version} {reported}"


def test_a_program_that_others_may_write_is_said_so(
    off_the_path: Path, make_pool: MakePool, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "SEARCH_PATH", "/nowhere")
    (off_the_path / "pgbouncer").chmod(0o757)
    make_pool()
    program = off_the_path / "pgbouncer"
    assert preflight_of(deployment.apply_pooler(pooler)) == (
        f"no trial instance: {program} is not started, since others than root and the account that starts it can "
        f"write {program}: have root own it, and take the right from others (chmod go-w)"
    )


def test_one_that_is_on_no_process_of_this_host_is_not_called_here(pooler: Pooler) -> None:
    away = Pooler(host="192.0.2.1", port=pooler.port, config_dir=pooler.config_dir)
    assert list(local_process.programs(away, "pgbouncer")) == []
