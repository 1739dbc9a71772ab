"""The playbook tuning on a server that waits for its disk: what a commit costs, and all settings as before."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from panel.quickstart.servers import PostgresServer, free_port
from tests.live.benchmarks.experiments.conftest import CarryOut
from tests.live.conftest import SUPERUSER_PASSWORD

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timing]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL that syncs to disk, with none of the playbook's settings on its command line."""
    with TemporaryDirectory(prefix="pooldeck-tests-", dir="/var/tmp") as folder:  # others' folder may be in memory
        home = Path(folder)
        home.chmod(0o755)
        with PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD) as server:
            yield server


def test_commits_are_faster_when_they_do_not_wait_for_the_disk(carry_out: CarryOut, postgres: PostgresServer) -> None:
    automatic = postgres.cluster_folder / "postgresql.auto.conf"
    before = automatic.read_text()
    # two of each: in 18 runs of 2 s the slowest that did not wait was 1.13 times the fastest that did
    found = carry_out("tuning", arms=["defaults", "async"], options={"duration": 2, "clients": 4}, repeats=2)
    waits, does_not = (one.derived["end_ms"] for one in found.arms)
    assert waits is not None
    assert does_not is not None
    assert does_not < waits
    assert automatic.read_text() == before
    with postgres.connect() as session:
        assert session.execute("SHOW synchronous_commit").fetchone() == ("on",)
    assert found.experiment.resources.filter(removed_at=None).count() == 0
