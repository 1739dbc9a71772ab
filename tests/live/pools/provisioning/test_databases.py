"""Databases listed, created, changed and dropped on a real server, by names that would hurt unquoted."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from panel.quickstart.servers import PostgresServer
from pools.errors import IllegalTransition, InvalidValues, NotThere
from pools.inventory import pools
from pools.models import Cluster, Pooler
from pools.provisioning import databases
from pools.provisioning.blockers import DropBlocked
from pools.provisioning.databases import InvalidDatabase
from tests.live.standbys import until

pytestmark = pytest.mark.django_db

ODD_NAMES = [
    "Shop",
    "two words",
    'say "hi"',
    'x"; DROP DATABASE app; --',
    "it's",
    "100%s {} \\",
    "зáказ-🐘",
    "table",
    "é" * 31,  # 62 bytes
    " leading",
]


@pytest.fixture
def session(postgres: PostgresServer) -> Iterator["psycopg.Connection[Any]"]:
    """The superuser's; whatever databases a test leaves behind are gone in the end."""
    with postgres.connect() as session:
        before = names_in(session)
        yield session
        for name in names_in(session) - before:
            session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def names_in(session: "psycopg.Connection[Any]") -> set[str]:
    return {name for (name,) in session.execute("SELECT datname FROM pg_database").fetchall()}


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_is_created_listed_and_dropped_as_it_is(
    cluster: Cluster, session: "psycopg.Connection[Any]", name: str
) -> None:
    before = names_in(session)
    made = databases.create(cluster, {"name": name, "owner": "app", "connection_limit": 7})
    assert (made.name, made.owner, made.connection_limit, made.encoding, made.connections) == (
        name,
        "app",
        7,
        "UTF8",
        0,
    )
    assert names_in(session) == before | {name}
    assert databases.find(cluster, name) == made
    assert [one.name for one in databases.list_all(cluster) if one.name == name] == [name]
    assert name in [one["name"] for one in Cluster.objects.get().status.databases]
    databases.drop(cluster, name)
    assert names_in(session) == before
    assert name not in [one["name"] for one in Cluster.objects.get().status.databases]


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"name": ""}, "name", "a name is needed"),
        ({"name": "é" * 32}, "name", "is 64 bytes long: PostgreSQL's names have at most 63"),
        ({"name": "a/b"}, "name", "contains a slash"),
        ({"name": "a\nb"}, "name", "contains a line break"),
        ({"name": "app"}, "name", "already exists on cluster live: choose another name"),
        ({"name": "x", "owner": "nobody"}, "owner", "there is no role 'nobody' on cluster live"),
        ({"name": "x", "template": "nothing"}, "template", "there is no database 'nothing' on cluster live"),
        ({"name": "x", "encoding": "EBCDIC"}, "encoding", "'EBCDIC' is not offered"),
        ({"name": "x", "connection_limit": -2}, "connection_limit", "-2 is not a connection limit"),
    ],
)
def test_what_can_not_be_made_is_told_beside_its_field(
    cluster: Cluster, session: "psycopg.Connection[Any]", values: dict[str, Any], field: str, words: str
) -> None:
    before = names_in(session)
    with pytest.raises(InvalidValues) as refused:
        databases.create(cluster, values)
    assert list(refused.value.errors) == [field]
    assert words in refused.value.errors[field][0]
    assert names_in(session) == before


def test_an_encoding_takes_the_template_that_fits_any(cluster: Cluster, session: "psycopg.Connection[Any]") -> None:
    assert databases.create(cluster, {"name": "latin", "encoding": "LATIN1"}).encoding == "LATIN1"
    assert databases.create(cluster, {"name": "copy", "template": "latin"}).encoding == "LATIN1"
    with pytest.raises(InvalidDatabase) as refused:
        databases.create(cluster, {"name": "clash", "template": "latin", "encoding": "UTF8"})
    assert list(refused.value.errors) == ["encoding"]


def test_a_template_that_is_in_use_says_by_whom(
    cluster: Cluster, postgres: PostgresServer, session: "psycopg.Connection[Any]"
) -> None:
    databases.create(cluster, {"name": "model"})
    in_use = r"template 'model' is in use.*'postgres' in 'model' with application"
    with postgres.connect("model"), pytest.raises(IllegalTransition, match=in_use):
        databases.create(cluster, {"name": "copy", "template": "model"})


def test_owner_and_limit_are_changed(cluster: Cluster, session: "psycopg.Connection[Any]") -> None:
    databases.create(cluster, {"name": "shop"})
    changed = databases.change(cluster, "shop", {"owner": "app", "connection_limit": 5})
    assert (changed.owner, changed.connection_limit) == ("app", 5)
    assert databases.change(cluster, "shop", {"connection_limit": -1}).connection_limit == -1
    with pytest.raises(InvalidDatabase, match="there is no role 'nobody'"):
        databases.change(cluster, "shop", {"owner": "nobody"})
    with pytest.raises(NotThere, match="there is no database 'nope' on cluster live"):
        databases.change(cluster, "nope", {"owner": "app"})


def test_a_database_in_use_is_not_dropped_and_it_says_by_whom(
    cluster: Cluster, postgres: PostgresServer, session: "psycopg.Connection[Any]"
) -> None:
    databases.create(cluster, {"name": "shop", "owner": "app"})
    login = {"host": postgres.host, "port": postgres.port, "dbname": "shop", "user": "app", "password": "app-password"}
    with psycopg.connect(**login, application_name="till"), psycopg.connect(**login, application_name="till"):
        with pytest.raises(DropBlocked) as refused:
            databases.drop(cluster, "shop")
        assert str(refused.value) == (
            "database 'shop' can't be dropped: 2 sessions of 'app' in 'shop' with application 'till' from 127.0.0.1 "
            "(end them there first)"
        )
        assert [one.connections for one in databases.list_all(cluster) if one.name == "shop"] == [2]
    # a server process ends a moment after its client
    until(lambda: [one.connections for one in databases.list_all(cluster) if one.name == "shop"] == [0])
    databases.drop(cluster, "shop")
    assert "shop" not in names_in(session)


def test_a_session_that_comes_in_between_is_told_by_the_server_s_own_refusal(
    cluster: Cluster, postgres: PostgresServer, session: "psycopg.Connection[Any]", monkeypatch: pytest.MonkeyPatch
) -> None:
    databases.create(cluster, {"name": "shop"})
    examined = databases.blocking
    answers = iter([lambda *_: [], examined])
    monkeypatch.setattr(databases, "blocking", lambda *asked: next(answers)(*asked))
    with postgres.connect("shop"), pytest.raises(DropBlocked, match="1 session of 'postgres' in 'shop'"):
        databases.drop(cluster, "shop")
    assert "shop" in names_in(session)


def test_a_pool_that_leads_there_keeps_the_database(
    cluster: Cluster, pooler: Pooler, session: "psycopg.Connection[Any]"
) -> None:
    databases.create(cluster, {"name": "shop", "owner": "app"})
    values = {"name": "till", "pooler": pooler, "cluster": cluster, "database": "shop", "user": "app", "size": 3}
    pool = pools.create(values)
    with pytest.raises(DropBlocked) as refused:
        databases.drop(cluster, "shop")
    assert [obstacle.pool for obstacle in refused.value.obstacles] == [pool]
    assert str(refused.value) == (
        "database 'shop' can't be dropped: pool till on pooler live-pgbouncer leads there (remove it first)"
    )
    assert databases.find(cluster, "shop").pools == (pool,)
    pools.remove(pool)
    with pytest.raises(DropBlocked, match="it is being removed: wait for that"):
        databases.drop(cluster, "shop")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("postgres", "maintenance database on cluster live"),
        ("template1", "is a template"),
        ("template0", "is a template"),
    ],
)
def test_templates_and_the_maintenance_database_stay(cluster: Cluster, name: str, words: str) -> None:
    with pytest.raises(IllegalTransition, match=words):
        databases.drop(cluster, name)


def test_what_the_panel_s_login_may_not_do_is_told_with_the_remedy(
    cluster: Cluster, postgres: PostgresServer, session: "psycopg.Connection[Any]"
) -> None:
    cluster.admin_user = "app"
    cluster.admin_password = "app-password"
    cluster.save()
    with pytest.raises(IllegalTransition, match=r"the panel's login 'app' may not do that.*grant it the right"):
        databases.create(cluster, {"name": "shop"})
    session.execute("CREATE DATABASE shop")
    with pytest.raises(IllegalTransition, match="must be owner of database shop"):
        databases.drop(cluster, "shop")


def test_a_database_whose_drop_was_interrupted_is_said_to_be_broken(
    cluster: Cluster, session: "psycopg.Connection[Any]"
) -> None:
    databases.create(cluster, {"name": "shop"})
    session.execute("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'shop'")
    assert databases.find(cluster, "shop").is_broken
    databases.drop(cluster, "shop")
    assert "shop" not in names_in(session)


def test_a_limit_below_what_a_pool_opens_is_refused(
    cluster: Cluster, pooler: Pooler, session: "psycopg.Connection[Any]"
) -> None:
    databases.create(cluster, {"name": "narrow", "owner": "app", "connection_limit": 9})
    values = {"cluster": cluster, "pooler": pooler, "database": "narrow", "user": "app"}
    with pytest.raises(InvalidValues) as refused:
        pools.create(values | {"name": "narrow", "size": 10})
    assert refused.value.errors["size"][0].startswith(
        "database narrow takes 9 connections at once and the pool opens up to 10"
    )
    pools.create(values | {"name": "narrow", "size": 9})
    with pytest.raises(InvalidDatabase) as too_low:
        databases.change(cluster, "narrow", {"connection_limit": 8})
    assert too_low.value.errors["connection_limit"][0].startswith("pool narrow opens up to 9 connections at once")
    assert databases.change(cluster, "narrow", {"connection_limit": 20}).connection_limit == 20
