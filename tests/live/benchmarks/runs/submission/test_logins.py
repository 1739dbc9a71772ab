"""What a submission costs the server: it asks all that it checks in one session."""

from collections.abc import Callable, Iterator

import pytest

from core.lib.polling import poll
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster
from tests.live.benchmarks.conftest import Submit, prepare

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue", "in_this_process")]
LOGIN = "connection authorized: "
SCRIPT = {"scripts": [{"text": "SELECT 1;"}], "builtin": None}


@pytest.fixture
def logins(postgres: PostgresServer) -> Iterator[Callable[[], list[str]]]:
    """Lists the logins to the server since the test began, as its log has them."""
    _reload(postgres, "ALTER SYSTEM SET log_connections = on")
    assert poll(lambda: _is_logged(postgres), 10)
    before = len(postgres.log)
    yield lambda: [line for line in postgres.log[before:].splitlines() if LOGIN in line]
    _reload(postgres, "ALTER SYSTEM RESET log_connections")


def _reload(postgres: PostgresServer, command: str) -> None:
    with postgres.connect() as session:
        session.execute(command)
        session.execute("SELECT pg_reload_conf()")


def _is_logged(postgres: PostgresServer) -> tuple[bool, bool]:
    """Whether a session's own login is logged: the setting holds for later sessions only."""
    before = len(postgres.log)
    postgres.connect().close()
    is_logged = LOGIN in postgres.log[before:]
    return is_logged, is_logged


@pytest.mark.parametrize(
    "options", [{}, {"idle_connections": 5}, {"checkpoint": True}, {"idle_connections": 5, "checkpoint": True}]
)
def test_a_load_is_submitted_with_one_login(
    submit: Submit, logins: Callable[[], list[str]], options: dict[str, object]
) -> None:
    submit(**options)
    assert len(logins()) == 1


def test_a_load_through_a_pool_is_submitted_with_one_login(
    submit: Submit, pool: object, logins: Callable[[], list[str]]
) -> None:
    submit(pool)
    assert len(logins()) == 1


def test_a_dataset_is_submitted_with_one_login(cluster: Cluster, dataset: str, logins: Callable[[], list[str]]) -> None:
    prepare(cluster, dataset, confirm=dataset)
    assert len(logins()) == 1
