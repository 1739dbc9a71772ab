"""Pools checked against a real cluster before they are saved, and pools that compete for the last connections."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from core.lib import env
from panel.quickstart.servers import PostgresServer
from pools.clusters import health_check
from pools.inventory import pools
from pools.inventory.pools import InvalidPool
from pools.models import Cluster, Pool, Pooler, PoolState
from tests import seeds
from tests.live.conftest import APP_PASSWORD

pytestmark = pytest.mark.django_db

PASSWORD = "p@ss w/o:rd'\"%"


@pytest.fixture
def session(postgres: PostgresServer) -> Iterator["psycopg.Connection[Any]"]:
    """The superuser's; the role `late` and the database `late` are there after `make_late`, and gone in the end."""
    with postgres.connect() as session:
        yield session
        session.execute("DROP DATABASE IF EXISTS late")
        session.execute("DROP ROLE IF EXISTS late")


def make_late(session: "psycopg.Connection[Any]") -> None:
    session.execute("CREATE DATABASE late")
    session.execute("REVOKE CONNECT ON DATABASE late FROM PUBLIC")
    session.execute(sql.SQL("CREATE ROLE late LOGIN PASSWORD {}").format(sql.Literal(PASSWORD)))


@pytest.fixture
def typed(cluster: Cluster, pooler: Pooler) -> dict[str, Any]:
    health_check.check_cluster(cluster)
    return {"name": "orders", "pooler": pooler, "cluster": cluster, "database": "app", "user": "app", "size": 10}


def errors(values: dict[str, Any]) -> dict[str, list[str]]:
    with pytest.raises(InvalidPool) as refused:
        pools.create(values)
    assert not Pool.objects.filter(name=values["name"]).exists()
    return refused.value.errors


def test_a_pool_of_what_is_there_is_saved(typed: dict[str, Any]) -> None:
    assert pools.create(typed).state == PoolState.PENDING
    assert pools.create(typed | {"name": "inbound", "user": ""}).user == ""


def test_what_is_not_there_is_refused_with_what_there_is(typed: dict[str, Any]) -> None:
    found = errors(typed | {"database": "nope", "user": "nobody"})
    assert set(found) == {"database", "user"}
    (database,), (user,) = found["database"], found["user"]
    assert re.fullmatch(
        r"there is no database 'nope' on cluster live now \(it has .+\): create it or choose another", database
    )
    assert re.fullmatch(
        r"there is no role 'nobody' on cluster live now \(it has .+\): create it or choose another", user
    )


def test_the_cluster_is_asked_now_not_at_the_last_check(
    typed: dict[str, Any], session: "psycopg.Connection[Any]"
) -> None:
    late = typed | {"database": "late"}
    assert "database" in errors(late)
    make_late(session)
    assert pools.create(late).database == "late"


def test_a_password_is_tried_before_it_is_kept(typed: dict[str, Any], session: "psycopg.Connection[Any]") -> None:
    make_late(session)
    late = typed | {"user": "late"}
    assert errors(late) == {"user_password": ["the password of role 'late' on cluster live is not known: enter it"]}
    ((field, (message,)),) = errors(late | {"user_password": "not-it"}).items()
    assert (field, message[:38]) == ("user_password", "the password of user 'late' was refuse")
    assert typed["cluster"].password_of("late") is None
    pools.create(late | {"user_password": PASSWORD})
    assert typed["cluster"].password_of("late") == PASSWORD
    assert PASSWORD not in typed["cluster"].role_passwords.get(role="late").sealed_password


def test_a_role_that_may_not_enter_the_database_is_told_beside_the_user(
    typed: dict[str, Any], session: "psycopg.Connection[Any]"
) -> None:
    make_late(session)
    ((field, (message,)),) = errors(typed | {"database": "late", "user_password": APP_PASSWORD}).items()
    assert field == "user"
    assert message.startswith("user 'app' may not connect to database 'late'")


def test_a_changed_password_reaches_the_other_pools_of_the_role(
    typed: dict[str, Any], session: "psycopg.Connection[Any]"
) -> None:
    make_late(session)
    first = pools.create(typed | {"name": "first", "user": "late", "user_password": PASSWORD})
    Pool.objects.update(state=PoolState.APPLIED)
    session.execute("ALTER ROLE late PASSWORD 'changed'")
    second = pools.create(typed | {"name": "second", "user": "late", "user_password": "changed"})
    first.refresh_from_db()
    assert (first.state, second.state) == (PoolState.PENDING, PoolState.PENDING)
    assert typed["cluster"].password_of("late") == "changed"


COMPETE = """
import json, os, threading
import django
django.setup()
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from pools.inventory import pools
from pools.inventory.pools import InvalidPool
from pools.models import Cluster, Pooler
from tests.pools.records import a_cluster, a_pooler

settings.MIGRATION_MODULES = {one.label: None for one in apps.get_app_configs()}  # the tables as they are in the end
call_command("migrate", run_syncdb=True, verbosity=0)
a_cluster(name="demo", memory_mb=1024)
a_pooler(name="edge")
connections.close_all()
child = os.fork()
said = []

def create(number):
    values = {"cluster": Cluster.objects.get(), "pooler": Pooler.objects.get(), "database": "shop", "size": 5}
    try:
        said.append(["made", str(pools.create(values | {"name": f"pool-{child == 0}-{number}"}))])
    except InvalidPool as refused:
        said.append(["refused", str(refused)])

threads = [threading.Thread(target=create, args=[number]) for number in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps(said), flush=True)
if child:
    os.waitpid(child, 0)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def metadata(
    request: pytest.FixtureRequest, postgres: PostgresServer, tmp_path: Path, seeds_folder: Path
) -> Iterator[dict[str, str]]:
    """The environment of a panel with a metadata database of its own, of either kind."""
    own = {"POOLDECK_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "tests.settings", "POOLDECK_LOG_LEVEL": "ERROR"}
    # tasks for a queue that is not there: the wish is saved all the same
    own |= {"REDIS_URL": "redis://127.0.0.1:1/0"}
    if request.param == "sqlite":
        with seeds.migrated(seeds_folder, tmp_path / "pooldeck.sqlite3"):
            yield os.environ | own
        return
    login = f"{postgres.superuser}:{postgres.password}@{postgres.host}:{postgres.port}"
    with postgres.connect() as session:
        session.execute("CREATE DATABASE metadata")
        yield os.environ | own | {"DATABASE_URL": f"postgresql://{login}/metadata"}
        session.execute("DROP DATABASE metadata WITH (FORCE)")


def run(program: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=env.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: "subprocess.Popen[str]") -> str:
    with process:
        try:
            printed, complaints = process.communicate(timeout=240)
        finally:
            process.kill()
    assert process.returncode == 0, complaints
    return printed


def test_pools_created_at_the_same_moment_never_share_a_connection(metadata: dict[str, str]) -> None:
    reported = [outcome for line in output(run(COMPETE, metadata)).splitlines() for outcome in json.loads(line)]
    assert (
        len([name for what, name in reported if what == "made"]) == 4
    )  # of 5 connections each, where 22 are available
    refused = {message for what, message in reported if what == "refused"}
    assert refused == {
        "size 5 is over the budget of cluster demo: 22 available, 20 allocated to pools, 2 free",
    }
    assert len(reported) == 12
