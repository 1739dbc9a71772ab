"""Each release of PgBouncer at hand: this system's, and those of a Debian 13 and unstable where there are any."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from panel.quickstart.servers import PgBouncerServer, binary, free_port, version_of
from pools.models import Pooler
from pools.poolers.pgbouncer import preflight
from tests.live.conftest import TestPgBouncer

HERE, THERE, NEWEST = "this system's", "Debian 13's", "Debian unstable's"
IN_FOLDERS = {THERE: "trixie_pgbouncer", NEWEST: "sid_pgbouncer"}
Config = Callable[[], dict[str, str]]


@pytest.fixture(params=[HERE, *IN_FOLDERS])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a PgBouncer, on which the panel runs preflights too."""
    path = binary("pgbouncer") if request.param == HERE else str(request.getfixturevalue(IN_FOLDERS[request.param]))
    monkeypatch.setattr(preflight, "SEARCH_PATH", f"{Path(path).parent}:{preflight.SEARCH_PATH}")
    return path


@pytest.fixture
def version(program: str) -> tuple[int, int]:
    """Of the program."""
    return version_of(program)


@pytest.fixture
def pgbouncer(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """One of that release, as in tests/live/conftest.py."""
    home = tmp_path_factory.mktemp("pgbouncer")
    with TestPgBouncer(home, free_port(), "pooldeck", "console-password", program) as server:
        yield server


@pytest.fixture
def config(pgbouncer: PgBouncerServer) -> Config:
    """Reads name → value out of SHOW CONFIG."""

    def read() -> dict[str, str]:
        with pgbouncer.connect() as console:
            return {row[0]: row[1] for row in console.execute(b"SHOW CONFIG")}

    return read


@pytest.fixture
def spec(pooler: Pooler) -> Callable[..., Pooler]:
    """Asks for settings of the pooler; not applied yet."""

    def ask(**values: object) -> Pooler:
        return pooler.edit(None, settings_state="pending", settings_reason="", **values)

    return ask
