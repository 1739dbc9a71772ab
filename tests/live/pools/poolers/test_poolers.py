"""Real poolers looked at: versions, figures, rows of the console, and reasons when something is wrong."""

import psycopg
import pytest
from pytest_django import Settings

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.deployment import drift
from pools.inventory import poolers
from pools.models import Pooler, PoolerState
from pools.poolers.console_sample import PoolFigures
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import console
from tests.live.conftest import CHILDREN
from tests.live.pools.conftest import MakePool

pytestmark = pytest.mark.django_db(transaction=True)


def values_of(server: PgBouncerServer) -> dict[str, object]:
    login = {"admin_user": server.admin_user, "admin_password": server.admin_password}
    address = {"name": "edge", "kind": "pgbouncer", "host": server.host, "port": server.port}
    return address | login | {"config_dir": str(server.config_dir)}


def test_a_pgbouncer_is_online_with_its_version(pgbouncer: PgBouncerServer) -> None:
    pooler, reason = poolers.register(values_of(pgbouncer))
    assert (pooler.state, reason) == (PoolerState.ONLINE, "")
    assert pooler.server_version.startswith("PgBouncer 1.")


def test_a_wrong_console_password_is_told_and_not_shown(pgbouncer: PgBouncerServer) -> None:
    pooler, reason = poolers.register(values_of(pgbouncer) | {"admin_password": "not-it"})
    assert pooler.state == PoolerState.UNREACHABLE
    assert "authentication failed" in reason
    assert "not-it" not in reason


def test_a_folder_that_can_not_be_written_is_told_of_a_pooler_that_is_online(pgbouncer: PgBouncerServer) -> None:
    pooler, reason = poolers.register(values_of(pgbouncer) | {"config_dir": "/nowhere/at/all"})
    assert (pooler.state, pooler.error) == (PoolerState.ONLINE, reason)
    assert reason == "config_dir /nowhere/at/all can't be opened: No such file or directory"


def test_what_is_wrong_with_a_folder_stays_the_word_of_the_generator_that_has_it(
    pooler: Pooler, settings: Settings
) -> None:
    wrong = {"config_dir": "/nowhere", "generator": settings.GENERATOR}
    _, reason = poolers.change(pooler, wrong)
    settings.GENERATOR = "elsewhere"
    poolers.check_all()
    pooler.refresh_from_db()
    assert (pooler.state, pooler.error) == (PoolerState.ONLINE, reason)
    assert poolers.check(pooler) == reason
    assert poolers.change(pooler, {"generator": "rack-2"})[1] == ""


def test_a_folder_that_is_right_again_is_told_by_the_look_for_drift(make_pool: MakePool, pooler: Pooler) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    Pooler.objects.update(error="config_dir can't be opened")
    drift.check(pooler)
    pooler.refresh_from_db()
    assert (pooler.state, pooler.error) == (PoolerState.ONLINE, "")


def test_a_pgpool_is_online_with_its_version(pgpool: PgpoolServer) -> None:
    values = {"name": "pgpool", "kind": "pgpool", "host": pgpool.host, "port": pgpool.port, "config_dir": ""}
    login = {"admin_user": pgpool.backend.superuser, "admin_password": pgpool.backend.password}
    pooler, reason = poolers.register(values | login)
    assert (pooler.state, reason) == (PoolerState.ONLINE, "")
    assert pooler.server_version.startswith("Pgpool-II 4.")
    assert (pooler.facts, pooler.pcp_port) == ({"num_init_children": CHILDREN, "max_pool": 1}, None)


def test_the_figures_of_a_pgpool_are_those_of_its_children(pgpool_pooler: Pooler, own_pgpool: PgpoolServer) -> None:
    address = {"host": own_pgpool.host, "port": own_pgpool.port, "user": "postgres", "dbname": "app"}
    with psycopg.connect(password=own_pgpool.backend.password, **address):
        found = poolers.pool_figures(pgpool_pooler)["app"]
    assert found == PoolFigures(cl_active=1, cl_waiting=0, sv_active=1, sv_idle=0, maxwait_ms=0)


def test_figures_count_clients_and_servers_over_all_users(make_pool: MakePool, pooler: Pooler) -> None:
    make_pool(user="", size=2)
    deployment.apply_pooler(pooler)
    address = {"host": pooler.host, "port": pooler.port, "dbname": "orders"}
    logins = [("app", "app-password"), ("postgres", "super-secret")]
    clients = [psycopg.connect(user=user, password=password, **address) for user, password in logins]
    for client in clients:
        client.execute(b"SELECT 1")
    found = poolers.pool_figures(pooler)["orders"]
    for client in clients:
        client.close()
    assert found == PoolFigures(cl_active=2, cl_waiting=0, sv_active=2, sv_idle=0, maxwait_ms=0)


@pytest.mark.parametrize("word", [word for word, since in console.WORDS.items() if since == (1, 18)])
def test_every_word_of_the_console_is_shown_by_column(word: str, pooler: Pooler) -> None:
    rows = console.show(pooler, word)
    assert all(isinstance(name, str) for row in rows for name in row)


def test_columns_keep_their_types(pooler: Pooler) -> None:
    row = console.show(pooler, "pools")[0]
    assert (row["database"], row["cl_active"], row["pool_mode"]) == ("pgbouncer", 1, "statement")


def test_other_words_never_reach_the_console(pooler: Pooler) -> None:
    with pytest.raises(Rejected, match="SHOW help; SHUTDOWN is not offered"):
        console.show(pooler, "help; SHUTDOWN")
