"""The demo is registered once, follows its servers, and leaves alone what people changed."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from panel.quickstart.demo import Demo
from panel.quickstart.home import Home
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from panel.quickstart.services import DemoServers
from pools.models import Cluster, Pool, Pooler, PoolerState
from tests.live.conftest import APP_PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.open()
    return made


@pytest.fixture
def demo(home: Home, postgres: PostgresServer, pgbouncer: PgBouncerServer, pgpool: PgpoolServer) -> Demo:
    servers = DemoServers(postgres, pgbouncer, pgpool, APP_PASSWORD)
    return Demo(home, servers, User.objects.create_user("admin", is_staff=True))


def test_the_demo_is_what_a_newcomer_finds(demo: Demo) -> None:
    demo.register()
    cluster = Cluster.objects.get()
    assert (cluster.name, cluster.protected, cluster.status.state) == ("demo", False, "online")
    poolers = Pooler.objects.values_list("name", "kind", "state")
    assert sorted(poolers) == [
        ("pgbouncer", "pgbouncer", PoolerState.ONLINE),
        ("pgpool", "pgpool", PoolerState.ONLINE),
    ]
    pool = Pool.objects.get()
    assert (pool.name, pool.database, pool.user, pool.mode, pool.size) == ("app", "app", "app", "transaction", 10)


def test_a_second_registration_changes_nothing(demo: Demo) -> None:
    demo.register()
    before = [list(model.objects.order_by("pk").values_list("pk", "version")) for model in (Cluster, Pooler, Pool)]
    demo.register()
    after = [list(model.objects.order_by("pk").values_list("pk", "version")) for model in (Cluster, Pooler, Pool)]
    assert before == after


def test_a_start_that_was_killed_before_it_could_remember_finds_what_it_made(demo: Demo, tmp_path: Path) -> None:
    demo.register()
    forgetful = Home(tmp_path / "empty")
    forgetful.open()
    Demo(forgetful, demo.servers, demo.author).register()
    assert (Cluster.objects.count(), Pooler.objects.count(), Pool.objects.count()) == (1, 2, 1)


def test_what_somebody_deleted_does_not_come_back(demo: Demo) -> None:
    demo.register()
    Pool.objects.all().delete()
    Pooler.objects.filter(kind="pgpool").delete()
    demo.register()
    assert Pool.objects.count() == 0
    assert Pooler.objects.get().kind == "pgbouncer"


def test_records_follow_their_servers_to_another_port(demo: Demo, home: Home) -> None:
    demo.register()
    port = demo.servers.postgres.port
    elsewhere = Cluster.objects.get()
    elsewhere.port = 1
    elsewhere.save(update_fields=["port"])
    home.keep("demo", "port of postgres", 1)
    demo.register()
    moved = Cluster.objects.get()
    assert (moved.port, moved.admin_password) == (port, demo.servers.postgres.password)


def test_a_record_that_a_person_led_elsewhere_stays_there(demo: Demo, home: Home) -> None:
    demo.register()
    Cluster.objects.update(host="db.example.org", port=5432)
    home.keep("demo", "port of postgres", 1)
    demo.register()
    assert Cluster.objects.values_list("host", "port").get() == ("db.example.org", 5432)
