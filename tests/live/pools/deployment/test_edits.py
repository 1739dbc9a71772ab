"""What an operator's own edit would do at the next reload or start is said before it does."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer
from pools import deployment, tasks
from pools.deployment import live_files
from pools.models import Cluster, Event, EventKind, Pool, Pooler
from pools.monitoring import alerting
from tests.live.conftest import CHILDREN

pytestmark = pytest.mark.django_db(transaction=True)
WITHIN_S = 30


@pytest.fixture
def ini(orders: Pool, pgbouncer: PgBouncerServer) -> Iterator[Path]:
    """pgbouncer.ini beside an applied pool, put back afterwards."""
    path = pgbouncer.config_dir / "pgbouncer.ini"
    before = path.read_bytes()
    yield path
    path.write_bytes(before)


def edit(path: Path, line: str) -> None:
    """A line of the operator's own at the head of the section, without a reload."""
    path.write_text(path.read_text().replace("[pgbouncer]\n", f"[pgbouncer]\n{line}\n", 1))


def found(pooler: Pooler, count: int = 1) -> list[dict[str, str]]:
    """What a look finds; a console that does not answer just now tells it at the next, half a minute later."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        tasks.check_drift()
        pooler.refresh_from_db()
        if len(pooler.drift) == count or time.monotonic() > deadline:
            return pooler.drift
        time.sleep(0.5)


def test_a_valid_edit_is_told_before_a_reload_brings_it(ini: Path, pooler: Pooler, pgbouncer: PgBouncerServer) -> None:
    assert found(pooler, 0) == []
    ini.write_text("\n".join(line for line in ini.read_text().split("\n") if not line.startswith("max_client_conn")))
    edit(ini, "max_client_conn = 50")
    (one,) = found(pooler)
    assert (one["where"], one["what"].startswith("a reload would change max_client_conn from ")) == (ini.name, True)
    assert one["what"].endswith(" to 50")
    assert live_files.live_files(pooler)["state"] == "drifted"
    alerting.judge({})
    event = Event.objects.get(kind=EventKind.DRIFT, closed_at=None)
    assert "a reload would change max_client_conn" in event.message
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    assert found(pooler, 0) == []


def test_an_edit_that_no_start_survives_is_told(ini: Path, pooler: Pooler) -> None:
    edit(ini, "this is no setting")
    (one,) = found(pooler)
    assert (one["where"], one["what"].startswith("PgBouncer would not start: ")) == (ini.name, True)
    assert "pgbouncer.ini" in one["what"]
    assert "/tmp" not in one["what"]


def test_a_pgpools_edits_are_told_too(cluster: Cluster, pgpool_pooler: Pooler, own_pgpool: PgpoolServer) -> None:
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    deployment.apply_pooler(pgpool_pooler)
    assert found(pgpool_pooler, 0) == []
    conf = own_pgpool.config_dir / "pgpool.conf"
    before = conf.read_text()
    account.write_private(conf, f"client_idle_limit = 77\n{before}")
    (one,) = found(pgpool_pooler)
    assert (one["where"], one["what"]) == (conf.name, "a reload would change client_idle_limit from 0 to 77")
    account.write_private(conf, f"num_init_children = lots\n{before}")
    (one,) = found(pgpool_pooler)
    assert (one["where"], one["what"].startswith("Pgpool-II would not start: ")) == (conf.name, True)
    account.write_private(conf, before)
    assert found(pgpool_pooler, 0) == []
