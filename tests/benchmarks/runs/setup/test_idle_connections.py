"""Idle connections beside a load: which login they use."""

from types import SimpleNamespace

import pytest

from benchmarks.runs.setup import idle_connections
from benchmarks.runs.setup.options import CLUSTER
from pools.clusters.endpoints import Endpoint
from tests.pools.records import a_cluster


@pytest.mark.parametrize("password", ["", None, "given"])
def test_at_the_server_itself_they_use_the_loads_login_and_no_stored_password(db: None, password: str | None) -> None:
    login = Endpoint("127.0.0.1", 6433, "orders", "postgres", password)
    run = SimpleNamespace(
        cluster=a_cluster(), database="shop", options={"idle_at": CLUSTER}, went_through_pool=True, role="postgres"
    )
    found = idle_connections._endpoint(SimpleNamespace(run=run, endpoint=login))
    assert (found.port, found.database, found.user, found.password) == (1, "shop", "postgres", password)
