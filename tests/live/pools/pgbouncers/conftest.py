"""Each release of PgBouncer at hand: this system's, and that of a Debian 13 where there is one."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from panel.quickstart.servers import PgBouncerServer, binary, free_port, version_of
from pools.models import Pooler
from pools.poolers.pgbouncer import rehearsal

TRIXIE = os.environ.get("POOLDECK_TEST_TRIXIE", "")
HERE, THERE = "this system's", "Debian 13's"
Config = Callable[[], dict[str, str]]


@pytest.fixture(scope="session")
def trixie_pgbouncer() -> Path:
    """A program that starts Debian 13's PgBouncer out of the debootstrap folder POOLDECK_TEST_TRIXIE."""
    if not (TRIXIE and Path(TRIXIE, "usr/sbin/pgbouncer").exists()):
        pytest.skip("POOLDECK_TEST_TRIXIE names no folder of a Debian 13 with pgbouncer (debootstrap trixie)")
    loader = next(Path(TRIXIE, "usr/lib64").glob("ld-linux*"))
    libraries = next(Path(TRIXIE, "usr/lib").glob("*-linux-gnu"))
    folder = Path(TRIXIE, "tmp", "pooldeck-tests")  # where every account may start it
    folder.mkdir(mode=0o755, exist_ok=True)
    program = folder / "pgbouncer"
    program.write_text(f'#!/bin/sh\nexec {loader} --library-path {libraries} {TRIXIE}/usr/sbin/pgbouncer "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture(params=[HERE, THERE])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a PgBouncer, on which the panel rehearses too."""
    path = binary("pgbouncer") if request.param == HERE else str(request.getfixturevalue("trixie_pgbouncer"))
    monkeypatch.setattr(rehearsal, "SEARCH_PATH", f"{Path(path).parent}:{rehearsal.SEARCH_PATH}")
    return path


@pytest.fixture
def version(program: str) -> tuple[int, int]:
    """Of the program."""
    return version_of(program)


@pytest.fixture
def pgbouncer(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """One of that release, as in tests/live/conftest.py."""
    home = tmp_path_factory.mktemp("pgbouncer")
    with PgBouncerServer(home, free_port(), "pooldeck", "console-password", program) as server:
        yield server


@pytest.fixture
def config(pgbouncer: PgBouncerServer) -> Config:
    """Reads name → value out of SHOW CONFIG."""

    def read() -> dict[str, str]:
        with pgbouncer.connect() as console:
            return {row[0]: row[1] for row in console.execute(b"SHOW CONFIG")}

    return read


@pytest.fixture
def wish(pooler: Pooler) -> Callable[..., Pooler]:
    """Asks for settings of the pooler; not applied yet."""

    def ask(**values: object) -> Pooler:
        return pooler.edit(None, settings_state="pending", settings_reason="", **values)

    return ask
