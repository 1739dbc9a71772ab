"""Who may have SQL run by a pooler's setting: a command on the database host is one COPY … TO PROGRAM away."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from core.accounts import confirmation
from panel.quickstart.servers import PostgresServer
from pools.clusters import health_check
from pools.inventory import sql_settings
from pools.models import Cluster, Pool, Pooler, PoolerState
from tests import callers
from tests.pages import page_of

pytestmark = pytest.mark.django_db
LOCAL = "SELECT set_config('app.tenant', 'a', false)"


def spec(cluster: Cluster, pooler: Pooler, **values: Any) -> dict[str, Any]:
    return {
        "name": "carrying",
        "pooler": str(pooler.pk),
        "cluster": str(cluster.pk),
        "database": "app",
        "user": "app",
        "size": 1,
    } | values


@pytest.fixture(autouse=True)
def release(pooler: Pooler) -> None:
    """Known, so that it is known what it takes."""
    pooler.state, pooler.server_version = PoolerState.ONLINE, "PgBouncer 1.18.0"
    pooler.save()


@pytest.mark.parametrize("user", ["postgres", ""])
def test_no_token_runs_commands_on_the_database_host(
    cluster: Cluster, pooler: Pooler, tmp_path: Path, user: str
) -> None:
    command = {"connect_query": f"COPY (SELECT 1) TO PROGRAM 'touch {tmp_path}/owned'"}
    for scopes in (("read", "apply"), callers.EVERY_SCOPE):
        asked = spec(cluster, pooler, user=user, settings=command)
        answer = callers.bearer(*scopes).post("/api/v1/pools/", asked)
        assert answer.status_code == 403, answer.data
        assert "connect_query runs SQL as" in answer.data["settings"][0]
    assert not Pool.objects.exists()


def test_sql_of_an_ordinary_role_asks_for_the_scope_admin(cluster: Cluster, pooler: Pooler) -> None:
    asked = spec(cluster, pooler, settings={"connect_query": LOCAL})
    refused = callers.bearer("read", "apply").post("/api/v1/pools/", asked)
    assert (refused.status_code, "the scope admin" in refused.data["settings"][0]) == (403, True)
    made = callers.bearer().post("/api/v1/pools/", asked)
    assert made.status_code == 201, made.data
    other = callers.bearer("read", "apply")
    assert other.patch(f"/api/v1/pools/{made.data['id']}/", {"size": 2}).status_code == 200
    moved = callers.bearer().patch(f"/api/v1/pools/{made.data['id']}/", {"user": "postgres"})
    assert (moved.status_code, "settings" in moved.data) == (403, True)  # the same SQL, as a superuser from now on


def test_a_person_may_with_their_own_password(cluster: Cluster, pooler: Pooler) -> None:
    browser = Client()
    browser.force_login(callers.person("anna", password="her own"))
    typed = spec(cluster, pooler, user="postgres", mode="transaction", further_connect_query=LOCAL)
    asked = page_of(browser.post("/pools/new/", typed))
    assert "only a person may set it" in asked
    assert 'name="own_password"' in asked
    wrong = page_of(browser.post("/pools/new/", typed | {"own_password": "not hers"}))
    assert "That is not your password." in wrong
    assert not Pool.objects.exists()
    assert browser.post("/pools/new/", typed | {"own_password": "her own"}).status_code == 302
    assert Pool.objects.get().settings == {"connect_query": LOCAL}


def test_the_programs_queries_run_as_every_role_of_its_pools(cluster: Cluster, pooler: Pooler) -> None:
    address, admin = f"/api/v1/poolers/{pooler.pk}/", callers.bearer()
    pool = Pool.objects.create(name="one", pooler=pooler, cluster=cluster, database="app", user="app", size=1)
    assert admin.patch(address, {"settings": {"server_reset_query": LOCAL}}).status_code == 200
    pool.user = "postgres"
    pool.save()
    refused = admin.patch(address, {"settings": {"server_reset_query": LOCAL + ";"}})
    assert (refused.status_code, "as good as a superuser" in refused.data["settings"][0]) == (403, True)
    assert admin.patch(address, {"settings": {"server_reset_query": "DISCARD ALL"}}).status_code == 200
    browser = Client()
    browser.force_login(callers.person())
    session = browser.session
    session[confirmation.CONFIRMED_AT] = time.time()
    session.save()
    pooler.refresh_from_db()
    browser.post(f"/poolers/{pooler.pk}/settings/", {"version": pooler.version, "server_reset_query": LOCAL})
    pooler.refresh_from_db()
    assert pooler.settings["server_reset_query"] == LOCAL


POWERS = ["SUPERUSER", "CREATEROLE", "REPLICATION", "IN ROLE pg_execute_server_program", "IN ROLE pg_read_server_files"]


@pytest.fixture
def powerful(postgres: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """A role with one of `POWERS`, inherited by way of another."""
    with postgres.connect() as session:
        session.execute("DROP ROLE IF EXISTS strong; DROP ROLE IF EXISTS strongs")
        session.execute(f"CREATE ROLE strongs {request.param}; CREATE ROLE strong LOGIN PASSWORD 's' IN ROLE strongs")
        yield "strong"
        session.execute("DROP ROLE strong; DROP ROLE strongs")


@pytest.mark.parametrize("powerful", POWERS, indirect=True)
def test_no_token_makes_a_pool_of_a_role_that_is_as_good_as_a_superuser(
    cluster: Cluster, pooler: Pooler, powerful: str
) -> None:
    known = cluster.role_passwords.model(cluster=cluster, role=powerful)
    known.password = "s"
    known.save(force_insert=True)
    for scopes in (("read", "apply"), callers.EVERY_SCOPE):
        asked = spec(cluster, pooler, user=powerful)
        answer = callers.bearer(*scopes).post("/api/v1/pools/", asked)
        assert (answer.status_code, "as good as a superuser" in answer.data["user"][0]) == (403, True)
        answer = callers.bearer(*scopes).post(
            f"/v2/databases/{cluster.pk}/pools",
            {"name": "carrying", "db": "app", "user": powerful, "mode": "transaction", "size": 1},
        )
        assert (answer.status_code, Pool.objects.exists()) == (403, False)


def test_no_token_gives_a_pool_to_a_superuser_or_opens_one_of_theirs(cluster: Cluster, pooler: Pooler) -> None:
    fields = {"pooler": pooler, "cluster": cluster, "database": "app", "size": 1}
    ordinary = Pool.objects.create(name="one", user="app", **fields)
    strong = Pool.objects.create(name="two", user="postgres", **fields)
    admin = callers.bearer()
    for pool, change in ((ordinary, {"user": "postgres"}), (strong, {"allowed_users": ["app"]})):
        assert admin.patch(f"/api/v1/pools/{pool.pk}/", change).status_code == 403
    assert admin.patch(f"/api/v1/pools/{ordinary.pk}/", {"allowed_users": ["tenant"]}).status_code == 200
    assert admin.patch(f"/api/v1/pools/{strong.pk}/", {"size": 2}).status_code == 200


def test_a_person_makes_a_pool_of_a_superuser_with_their_own_password(cluster: Cluster, pooler: Pooler) -> None:
    browser = Client()
    browser.force_login(callers.person("anna", password="her own"))
    typed = spec(cluster, pooler, user="postgres", mode="transaction", allowed_users="")
    assert 'name="own_password"' in page_of(browser.post("/pools/new/", typed))
    assert browser.post("/pools/new/", typed | {"own_password": "her own"}).status_code == 302
    assert Pool.objects.get().user == "postgres"


def test_a_silent_cluster_lets_a_token_make_pools_of_roles_that_were_ordinary_at_its_last_check(
    cluster: Cluster, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_settings, "_powerful_roles", lambda _cluster: None)
    token = callers.bearer("read", "apply")
    never_checked = token.post("/api/v1/pools/", spec(cluster, pooler))
    assert (never_checked.status_code, "can't be asked whether" in never_checked.data["user"][0]) == (403, True)
    health_check.check_cluster(cluster)
    assert token.post("/api/v1/pools/", spec(cluster, pooler, user="postgres")).status_code == 403
    assert token.post("/api/v1/pools/", spec(cluster, pooler)).status_code == 201
