"""A cluster that waits in a smart shutdown for the sessions of a pooler, as checks show it."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.lib.private_text import for_admins
from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters import health_check
from pools.models import Cluster, ClusterState, ClusterStatus
from tests.live.conftest import FAST
from tests.live.standbys import registered, until
from tests.postgresqls import bindirs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=[pytest.param("15", marks=pytest.mark.slow), "18"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PostgresServer]:
    bindir = bindirs()[request.param]
    with PostgresServer(tmp_path / "own", free_port(), password="own-secret", bindir=bindir, settings=FAST) as started:
        yield started


def test_a_cluster_that_is_shutting_down_is_shown_as_such(server: PostgresServer) -> None:
    cluster = registered(server)
    health_check.check_all([cluster])
    assert ClusterStatus.objects.get().state == ClusterState.ONLINE
    with server.connect():
        server.kill(signal.SIGTERM)
        until(lambda: server.is_stopping)
        health_check.check_all(Cluster.objects.all())
        status = ClusterStatus.objects.get()
    assert (status.state, for_admins(status.error)) == (
        ClusterState.UNREACHABLE,
        f"the server at 127.0.0.1:{server.port} is shutting down: try again in a moment; a smart shutdown (SIGTERM) "
        "waits until all sessions have ended, the idle ones of poolers too: end them, or stop it with "
        "pg_ctl stop -m fast",
    )
