"""Pools on a real Pgpool-II: let in, read back, and put back as they were when something is wrong."""

from collections.abc import Callable, Iterator

import psycopg
import psycopg.sql
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PostgresServer
from pools import connection_strings, deployment
from pools.clusters import endpoints
from pools.deployment import drift
from pools.models import Cluster, Pool, Pooler, PoolState, Revision, RevisionState
from pools.poolers import KINDS
from pools.poolers.pgpool import sql
from tests.live.conftest import CHILDREN
from tests.live.pools.conftest import state_of
from tests.live.standbys import until
from tests.pools.records import know_password

pytestmark = pytest.mark.django_db(transaction=True)
MakePool = Callable[..., Pool]


@pytest.fixture
def make_pool(cluster: Cluster, pgpool_pooler: Pooler) -> MakePool:
    """Saves a pending pool of database `app` and user `app`."""

    def make(**fields: object) -> Pool:
        values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN} | fields
        return Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)

    return make


def log_in(server: PgpoolServer, database: str = "app", user: str = "app", password: str = "app-password") -> str:
    """The role that a client of the pool ends up as."""
    address = {"host": server.host, "port": server.port, "connect_timeout": 5}
    with psycopg.connect(dbname=database, user=user, password=password, autocommit=True, **address) as session:
        return session.execute(b"SELECT current_user").fetchone()[0]


def live(pooler: Pooler) -> dict[str, str]:
    with sql.open(pooler) as session:
        return sql.settings(session)


def reported(pooler: Pooler, *names: str) -> set[tuple[str, ...]]:
    """What five sessions say of settings, whichever child serves them."""
    return {tuple(live(pooler)[name] for name in names) for _ in range(5)}


def test_a_pool_lets_its_user_in_to_its_database_alone(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer
) -> None:
    with pytest.raises(psycopg.OperationalError):
        log_in(own_pgpool)
    pool = make_pool()

    revision = deployment.apply_pooler(pgpool_pooler)

    pool.refresh_from_db()
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert log_in(own_pgpool) == "app"
    with pytest.raises(psycopg.OperationalError):
        log_in(own_pgpool, database="postgres")


SIGNS = {
    "quoted": ("quoted", "'tisAPass"),
    "signs": ("signs", "(q=7R+<wXa1L8t$@%GrZ;<"),
    "Sales-EU": ("etl@reports", "x y"),
}  # by database, as in pgbouncer/pgbouncer#1363, bitnami/charts#28179 and hasura/graphql-engine#993


def test_roles_and_passwords_of_signs_pass_its_files(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer, cluster: Cluster, signed: None
) -> None:
    made = []
    for database, (role, password) in SIGNS.items():
        know_password(cluster, role, password)
        made.append(make_pool(name=database, database=database, user=role))
    deployment.apply_pooler(pgpool_pooler)
    assert [state_of(pool) for pool in made] == [(PoolState.APPLIED, "")] * len(made)
    assert [log_in(own_pgpool, database, *who) for database, who in SIGNS.items()] == [who for who, _ in SIGNS.values()]
    for pool in made:
        uri = connection_strings.render(endpoints.of_pool(pool), "uri", reveal=True)
        with psycopg.connect(uri, autocommit=True) as session:
            assert session.execute(b"SELECT current_database()::text").fetchone() == (pool.database,)


@pytest.fixture
def signed(postgres: PostgresServer) -> Iterator[None]:
    """The databases and roles of `SIGNS`."""
    with postgres.connect() as session:
        for database, (role, password) in SIGNS.items():
            names = {"role": psycopg.sql.Identifier(role), "database": psycopg.sql.Identifier(database)}
            secret = psycopg.sql.Literal(password)
            session.execute(
                psycopg.sql.SQL("CREATE ROLE {role} LOGIN PASSWORD {secret}").format(**names, secret=secret)
            )
            session.execute(psycopg.sql.SQL("CREATE DATABASE {database} OWNER {role}").format(**names))
        yield
        for database, (role, _password) in SIGNS.items():
            session.execute(psycopg.sql.SQL("DROP DATABASE {} WITH (FORCE)").format(psycopg.sql.Identifier(database)))
            session.execute(psycopg.sql.SQL("DROP ROLE {}").format(psycopg.sql.Identifier(role)))


def spec(pooler: Pooler, **settings: object) -> None:
    """Ask for settings as the settings' verb does."""
    Pooler.objects.filter(pk=pooler.pk).update(settings=settings, settings_state=PoolState.PENDING)
    pooler.refresh_from_db()


def test_settings_go_live_and_what_is_read_at_the_start_waits_for_a_restart(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer
) -> None:
    make_pool()
    spec(pgpool_pooler, client_idle_limit=300, log_connections="1", log_line_prefix="%m: ", num_init_children=20)

    revision = deployment.apply_pooler(pgpool_pooler)

    pgpool_pooler.refresh_from_db()
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert pgpool_pooler.settings_state == PoolState.APPLIED
    assert pgpool_pooler.needs_restart == [{"name": "num_init_children", "live": str(CHILDREN), "wanted": "20"}]
    found = live(pgpool_pooler)
    assert {name: found[name] for name in ("client_idle_limit", "log_connections", "log_line_prefix")} == {
        "client_idle_limit": "5min",
        "log_connections": "on",
        "log_line_prefix": "%m: ",
    }
    own_pgpool.stop()
    own_pgpool.start()  # The start writes the operator's part again.
    assert live(pgpool_pooler)["num_init_children"] == "20"
    drift.check(pgpool_pooler)
    pgpool_pooler.refresh_from_db()
    assert pgpool_pooler.needs_restart == []


def test_a_setting_is_empty_on_purpose(make_pool: MakePool, pgpool_pooler: Pooler) -> None:
    make_pool()
    spec(pgpool_pooler, reset_query_list="", log_line_prefix="")

    revision = deployment.apply_pooler(pgpool_pooler)

    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    found = live(pgpool_pooler)
    assert (found["reset_query_list"], found["log_line_prefix"]) == ("", "")


def test_a_setting_that_is_taken_out_goes_back_to_its_default(make_pool: MakePool, pgpool_pooler: Pooler) -> None:
    make_pool()
    spec(pgpool_pooler, client_idle_limit=300)
    deployment.apply_pooler(pgpool_pooler)
    spec(pgpool_pooler)

    revision = deployment.apply_pooler(pgpool_pooler)

    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    until(lambda: reported(pgpool_pooler, "client_idle_limit") == {("0",)})


def test_a_pool_whose_password_is_wrong_is_rolled_back_and_the_settings_of_before_are_live(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer, cluster: Cluster
) -> None:
    make_pool()
    assert deployment.apply_pooler(pgpool_pooler).state == RevisionState.APPLIED
    before = {path.name: path.read_bytes() for path in own_pgpool.config_dir.iterdir()}
    pool = make_pool(name="postgres", database="postgres")
    Pool.objects.filter(pk=pool.pk).update(user="nobody-there")
    known = cluster.role_passwords.model(cluster=cluster, role="nobody-there")
    known.password = "not-this-one"
    known.save(force_insert=True)

    revision = deployment.apply_pooler(pgpool_pooler)

    pool.refresh_from_db()
    assert (revision.state, pool.state) == (RevisionState.ROLLED_BACK, PoolState.ROLLED_BACK)
    assert "nobody-there" in pool.state_reason
    assert "not-this-one" not in pool.state_reason
    assert {path.name: path.read_bytes() for path in own_pgpool.config_dir.iterdir()} == before
    assert log_in(own_pgpool) == "app"


def test_a_reload_that_was_half_applied_is_rolled_back(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pool()
    deployment.apply_pooler(pgpool_pooler)
    refused = own_pgpool.log.count("FATAL")  # by children that had not taken the new user yet
    # as a release would whose catalog is wrong about a range: no trial instance is there to report it
    monkeypatch.setattr("pools.poolers.pgpool.preflight.find", lambda *_: None)
    monkeypatch.setattr("pools.poolers.settings_schema.problems", lambda *_: iter(()))
    spec(pgpool_pooler, log_statement="1", client_idle_limit=99_999_999_999, log_client_messages="1")

    revision = deployment.apply_pooler(pgpool_pooler)

    pgpool_pooler.refresh_from_db()
    assert (revision.state, pgpool_pooler.settings_state) == (RevisionState.ROLLED_BACK, PoolState.ROLLED_BACK)
    assert pgpool_pooler.settings_reason == "after the reload: client_idle_limit is '0', not '99999999999'"
    # a child that was busy takes the reload when it is done
    until(lambda: reported(pgpool_pooler, "log_statement", "log_client_messages") == {("off", "off")})
    assert own_pgpool.log.count("FATAL") == refused


def test_the_trial_instance_refuses_what_the_real_one_would_pass_over(
    make_pool: MakePool, pgpool_pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pool()
    monkeypatch.setattr("pools.poolers.settings_schema.problems", lambda *_: iter(()))
    spec(pgpool_pooler, log_standby_delay="nonsense")

    revision = deployment.apply_pooler(pgpool_pooler)

    first = pgpool_pooler.revisions.order_by("number").first()
    assert first.state == RevisionState.ROLLED_BACK
    assert "Pgpool-II would not start on these files, so they were not written" in first.reason
    assert revision.state == RevisionState.APPLIED  # the pool without the settings


def test_what_the_operator_wrote_above_the_mark_is_kept(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer
) -> None:
    before = {path.name: path.read_text() for path in own_pgpool.config_dir.iterdir()}
    make_pool()
    deployment.apply_pooler(pgpool_pooler)

    after = {path.name: path.read_text() for path in own_pgpool.config_dir.iterdir()}

    assert {name: text.split("# ---- Pooldeck")[0] for name, text in after.items()} == before
    assert KINDS["pgpool"].compare(pgpool_pooler, Revision.objects.live_on(pgpool_pooler).files) == {}
    masked = KINDS["pgpool"].masked(after)
    assert not [text for text in masked.values() if "app-password" in text or own_pgpool.backend.password in text]
