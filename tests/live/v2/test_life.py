"""The whole life of a user, a database and a pool under /v2/, and what a client connects with."""

from urllib.parse import quote

import psycopg
import pytest

from pools.models import Cluster, Pool, Pooler, PoolState, ShelfEntry
from tests.live.v2.conftest import Managed
from tests.pools.managed_api.schema import check

pytestmark = pytest.mark.django_db(transaction=True)


def logged_in_as(uri: str) -> tuple[str, str]:
    """Role and database that a client of the URI ends up with."""
    with psycopg.connect(uri, connect_timeout=5, autocommit=True) as session:
        return session.execute(b"SELECT current_user::text, current_database()::text").fetchone()


def test_user_database_and_pool_from_create_to_delete(managed: Managed, database: str, fresh_name: str) -> None:
    made = managed.send("POST", f"{database}/users", {"name": fresh_name})
    assert made.status == 201
    user = check("user", made.body)["user"]
    assert (user["name"], user["role"], len(user["password"]) > 12) == (fresh_name, "normal", True)
    assert managed.send("POST", f"{database}/users", {"name": fresh_name}).status == 409
    assert user in check("users", managed.get(f"{database}/users"))["users"]

    assert managed.send("POST", f"{database}/dbs", {"name": fresh_name}).body == {"db": {"name": fresh_name}}
    assert managed.send("POST", f"{database}/dbs", {"name": fresh_name}).status == 409
    assert {"name": fresh_name} in check("dbs", managed.get(f"{database}/dbs"))["dbs"]
    found = check("database", managed.get(database))["database"]
    assert (fresh_name in found["db_names"], fresh_name in [one["name"] for one in found["users"]]) == (True, True)

    asked = {"name": "web", "user": fresh_name, "db": fresh_name, "mode": "session", "size": 2}
    pool = managed.send("POST", f"{database}/pools", asked)
    assert pool.status == 201
    shape = check("pool", pool.body)["pool"]
    assert {name: shape[name] for name in asked} == asked
    assert logged_in_as(shape["connection"]["uri"]) == (fresh_name, fresh_name)
    assert managed.get(f"{database}/pools/web") == pool.body
    assert [one["name"] for one in managed.get(f"{database}/pools?page=1&per_page=200")["pools"]] == ["web"]

    assert managed.send("PUT", f"{database}/pools/web", {"size": 3, "mode": "session", "db": fresh_name}).status == 204
    changed = managed.get(f"{database}/pools/web")["pool"]
    assert (changed["size"], changed["user"]) == (3, fresh_name)
    again = managed.send("POST", f"{database}/users/{fresh_name}/reset_auth", {})
    assert again.status == 200
    assert again.body["user"]["password"] != user["password"]

    assert managed.send("DELETE", f"{database}/users/{fresh_name}").status == 409  # the pool uses it
    assert [managed.send("DELETE", f"{database}/pools/web").status for _ in range(2)] == [204, 404]
    assert not Pool.objects.exists()
    assert [managed.send("DELETE", f"{database}/dbs/{fresh_name}").status for _ in range(2)] == [204, 404]
    assert [managed.send("DELETE", f"{database}/users/{fresh_name}").status for _ in range(2)] == [204, 404]


def test_names_with_an_at_sign_pass_every_address(managed: Managed, database: str, fresh_name: str) -> None:
    """As Azure's user@server, to a database whose name is no plain word."""
    role, shop = f"{fresh_name}@reports", f"Sales-EU_{fresh_name}"
    at = quote(role, safe="")
    assert managed.send("POST", f"{database}/users", {"name": role}).body["user"]["name"] == role
    assert managed.get(f"{database}/users/{at}")["user"]["name"] == role
    assert managed.send("POST", f"{database}/dbs", {"name": shop}).status == 201
    asked = {"name": "etl", "user": role, "db": shop, "mode": "transaction", "size": 2}
    made = managed.send("POST", f"{database}/pools", asked)
    assert made.status == 201
    uri = check("pool", made.body)["pool"]["connection"]["uri"]
    assert f"//{at}:" in uri
    assert logged_in_as(uri) == (role, shop)
    assert managed.send("POST", f"{database}/users/{at}/reset_auth", {}).status == 200
    deletions = ("pools/etl", f"dbs/{shop}", f"users/{at}")
    assert [managed.send("DELETE", f"{database}/{path}").status for path in deletions] == [204] * 3


def test_a_pool_of_the_inbound_user_takes_a_role_that_its_pooler_knows(managed: Managed, database: str) -> None:
    managed.send(
        "POST", f"{database}/pools", {"name": "fixed", "user": "app", "db": "app", "mode": "transaction", "size": 2}
    )
    made = managed.send(
        "POST", f"{database}/pools", {"name": "inbound", "user": "", "db": "app", "mode": "transaction", "size": 2}
    )
    assert made.status == 201
    connection = made.body["pool"]["connection"]
    assert (connection["user"], connection["password"]) == ("", "")
    address = {"host": connection["host"], "port": connection["port"], "dbname": connection["database"]}
    assert logged_in_as(psycopg.conninfo.make_conninfo(user="app", password="app-password", **address)) == (
        "app",
        "app",
    )


def test_a_client_gets_in_by_the_look_up_of_a_database_made_over_the_api(
    managed: Managed, database: str, lookup_role: str, fresh_name: str
) -> None:
    made = managed.send("POST", f"{database}/users", {"name": fresh_name, "settings": {}})
    assert (made.status, made.body["user"]["settings"]) == (201, {})
    assert "settings" not in managed.get(f"{database}/users/{fresh_name}")["user"]
    assert managed.send("POST", f"{database}/dbs", {"name": fresh_name}).status == 201
    asked = {"name": f"in_{fresh_name}"[:60], "user": "", "db": fresh_name, "mode": "transaction", "size": 2}
    pool = managed.send("POST", f"{database}/pools", asked)
    assert pool.status == 201, pool
    assert {name: pool.body["pool"][name] for name in asked} == asked
    found = pool.body["pool"]["connection"]
    address = {"host": found["host"], "port": found["port"], "dbname": found["database"]}
    login = psycopg.conninfo.make_conninfo(user=fresh_name, password=made.body["user"]["password"], **address)
    assert logged_in_as(login) == (fresh_name, fresh_name)
    with pytest.raises(psycopg.OperationalError):
        logged_in_as(psycopg.conninfo.make_conninfo(user=fresh_name, password="wrong", **address))
    for path in (f"pools/{asked['name']}", f"dbs/{fresh_name}", f"users/{fresh_name}"):
        assert managed.send("DELETE", f"{database}/{path}").status == 204


def test_a_pool_whose_user_can_not_log_in_leaves_nothing_behind(
    managed: Managed, database: str, cluster: Cluster
) -> None:
    cluster.keep_password("app", "wrong-password")
    answer = managed.send(
        "POST", f"{database}/pools", {"name": "web", "user": "app", "db": "app", "mode": "session", "size": 2}
    )
    assert answer.status == 422, answer
    assert answer.body["id"] == "unprocessable_entity"
    assert "app" in answer.body["message"]
    assert managed.get(f"{database}/pools")["pools"] == []
    cluster.keep_password("app", "app-password")
    answer = managed.send(
        "POST", f"{database}/pools", {"name": "web", "user": "app", "db": "app", "mode": "session", "size": 2}
    )
    assert answer.status == 201


def test_pgbouncers_settings_are_applied_before_the_answer(managed: Managed, database: str, pooler: Pooler) -> None:
    asked = {
        "server_reset_query_always": True,
        "server_idle_timeout": 120,
        "ignore_startup_parameters": ["extra_float_digits"],
    }
    answer = managed.send("PATCH", f"{database}/config", {"config": {"pgbouncer": asked}})
    assert (answer.status, answer.body) == (200, {"config": {"pgbouncer": asked}})
    pooler.refresh_from_db()
    assert pooler.settings_state == PoolState.APPLIED
    assert managed.get(f"{database}/config") == answer.body
    for config in ({"work_mem": 64}, {"pgbouncer": {"autodb_pool_size": 5}}, {"pgbouncer": {"server_lifetime": "x"}}):
        assert managed.send("PATCH", f"{database}/config", {"config": config}).status == 422


@pytest.mark.parametrize("drops", [True, False])
def test_a_claimed_cluster_goes_back_to_the_shelf(
    managed: Managed, cluster: Cluster, pooler: Pooler, fresh_name: str, drops: bool
) -> None:
    ShelfEntry.objects.create(
        cluster=cluster, name=cluster.name, size="db-s-1vcpu-1gb", region="nyc1", drop_on_return=drops
    )
    asked = {
        "name": "orders",
        "engine": "pg",
        "size": "db-s-1vcpu-1gb",
        "region": "nyc1",
        "num_nodes": 1,
        "rules": None,
    }
    made = managed.send("POST", "databases", asked)
    assert made.status == 201
    shape = check("database", made.body)["database"]
    assert (shape["name"], shape["status"]) == ("orders", "online")
    assert logged_in_as(shape["connection"]["uri"]) == ("postgres", "postgres")
    database = f"databases/{shape['id']}"
    for path, body in (("users", {"name": fresh_name}), ("dbs", {"name": fresh_name})):
        assert managed.send("POST", f"{database}/{path}", body).status == 201
    pool = {"name": "web", "user": fresh_name, "db": fresh_name, "mode": "session", "size": 2}
    assert logged_in_as(managed.send("POST", f"{database}/pools", pool).body["pool"]["connection"]["uri"])

    assert [managed.send("DELETE", database).status for _ in range(2)] == [204, 404]
    cluster.refresh_from_db()
    assert (cluster.name, ShelfEntry.objects.get().claimed_at) == ("live", None)
    with psycopg.connect(shape["connection"]["uri"], autocommit=True) as session:
        databases, roles = "SELECT datname FROM pg_database", "SELECT rolname FROM pg_roles"
        query = f"{databases} WHERE datname = %s UNION {roles} WHERE rolname = %s"
        left = session.execute(query, [fresh_name, fresh_name]).fetchall()
        assert left == ([] if drops else [(fresh_name,)])
        session.execute(f'DROP DATABASE IF EXISTS "{fresh_name}" WITH (FORCE)')
        session.execute(f'DROP ROLE IF EXISTS "{fresh_name}"')
