"""Preparing datasets in real databases, and refusing where that would destroy something."""

import itertools
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from benchmarks.engines.pgbench.initialize import estimated_bytes
from benchmarks.errors import InvalidOptions, InvalidTarget, Refused
from benchmarks.models import Dataset, Run, Status, Validity
from benchmarks.runs.execution import reaper
from benchmarks.targets import datasets, partial_datasets
from panel.quickstart import account
from panel.quickstart.servers import PostgresServer, free_port
from pools.models import Cluster
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import execute, prepare, short, wait_for
from tests.live.conftest import APP_PASSWORD, APP_ROLE, FAST
from tests.postgresqls import bindirs

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("queue", "in_this_process"),
]
_numbers = itertools.count(1)


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """A new, empty database of the role `app`."""
    name = f"dataset_{next(_numbers)}"
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, name)
    return name


@pytest.fixture
def tablespace(postgres: PostgresServer, database: str) -> Iterator[str]:
    """One that only superusers may use; its folder lies with the data."""
    name, place = f"apart_{database}", postgres.home / f"apart_{database}"
    account.make_folder(place)
    with postgres.connect() as session:
        session.execute(f"CREATE TABLESPACE {name} LOCATION '{place}'")
        yield name
        session.execute(f"DROP DATABASE {database} WITH (FORCE)")
        session.execute(f"DROP TABLESPACE {name}")


def test_a_dataset_is_made_by_the_databases_owner_marked_and_remembered(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    run = execute(prepare(cluster, database, scale=2))
    assert (run.status, run.error, run.progress_percent) == (Status.SUCCEEDED, "", 100.0)
    dataset = Dataset.objects.get()
    assert (dataset.cluster, dataset.database, dataset.scale, dataset.run) == (cluster, database, 2, run)
    found = datasets.facts(cluster, database)
    assert (found.ours, found.scale, found.rows, found.complete) == (True, 2, 200_000, True)
    assert (found.table_owner, found.database_owner) == (APP_ROLE, APP_ROLE)
    assert 0.95 < found.size_bytes / estimated_bytes(2) < 1.05
    assert found.free_bytes is not None
    assert found.free_bytes > 1_000_000


def test_our_own_dataset_is_replaced_without_a_word(cluster: Cluster, database: str) -> None:
    execute(prepare(cluster, database, scale=1))
    assert execute(prepare(cluster, database, scale=2)).status == Status.SUCCEEDED
    assert [one.scale for one in Dataset.objects.all()] == [2]


def test_tables_of_others_need_the_databases_name_typed(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    with postgres.connect(database) as session:
        session.execute("CREATE TABLE pgbench_accounts (precious int); INSERT INTO pgbench_accounts VALUES (1)")
    with pytest.raises(Refused, match=f"pgbench_accounts that this panel did not make.*type .*{database}"):
        prepare(cluster, database)
    with pytest.raises(Refused):
        prepare(cluster, database, confirm="another")
    assert Run.objects.count() == 0
    assert execute(prepare(cluster, database, confirm=database)).status == Status.SUCCEEDED


def test_a_protected_cluster_needs_the_databases_name_typed(cluster: Cluster, database: str) -> None:
    cluster.edit(None, protected=True)
    with pytest.raises(Refused, match="cluster live is protected"):
        prepare(cluster, database)
    assert prepare(cluster, database, confirm=database).status == Status.QUEUED


def test_tables_that_others_refer_to_are_never_dropped(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    execute(prepare(cluster, database))
    with postgres.connect(database) as session:
        session.execute("CREATE TABLE mine (aid int REFERENCES pgbench_accounts)")
    with pytest.raises(Refused, match=r"refer to its pgbench tables by foreign keys \(.*mine\)"):
        prepare(cluster, database, confirm=database)


def test_our_own_partitions_refer_to_nothing_of_others_and_count_with_their_table(
    cluster: Cluster, database: str
) -> None:
    options = {"partitions": 2, "foreign_keys": True}
    execute(prepare(cluster, database, **options))
    assert execute(prepare(cluster, database, scale=2, **options)).status == Status.SUCCEEDED
    assert datasets.facts(cluster, database).dependents == ()
    assert 0.95 < datasets.facts(cluster, database).size_bytes / estimated_bytes(2) < 1.05


def test_a_tablespace_that_can_not_take_the_tables_costs_none_of_those_there(
    cluster: Cluster, postgres: PostgresServer, database: str, tablespace: str
) -> None:
    execute(prepare(cluster, database))
    for name in ("nonesuch", "pg_global"):
        with pytest.raises(Refused, match=f"live has no tablespace {name} for tables: choose another"):
            prepare(cluster, database, tablespace=name)
    with pytest.raises(Refused, match=f"role app may not make tables in tablespace {tablespace}: GRANT it CREATE"):
        prepare(cluster, database, index_tablespace=tablespace)
    assert Run.objects.count() == 1
    with postgres.connect() as session:
        session.execute(f"GRANT CREATE ON TABLESPACE {tablespace} TO {APP_ROLE}")
    options = {"tablespace": "pg_default", "index_tablespace": tablespace}
    assert execute(prepare(cluster, database, **options)).status == Status.SUCCEEDED


@pytest.fixture
def cluster_18(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Iterator[Cluster]:
    """A PostgreSQL 18 registered, beside `cluster`."""
    home, settings = tmp_path_factory.mktemp("eighteen"), FAST
    with PostgresServer(home, free_port(), password="secret", bindir=bindirs()["18"], settings=settings) as server:
        made = Cluster(name="eighteen", host=server.host, port=server.port, admin_user=server.superuser)
        made.sslmode, made.protected, made.admin_password = "disable", False, server.password
        made.save(force_insert=True)
        yield made


@pytest.mark.parametrize("version", [version for version in bindirs() if int(version) < 18])
def test_unlogged_partitions_cost_no_table_of_a_postgresql_18(
    cluster_18: Cluster, settings: Settings, version: str
) -> None:
    settings.PGBENCH = str(bindirs()[version] / "pgbench")
    assert execute(prepare(cluster_18, "postgres")).status == Status.SUCCEEDED
    options = {"unlogged_tables": True, "partitions": 2}
    with pytest.raises(InvalidOptions) as refusal:
        prepare(cluster_18, "postgres", **options)
    assert list(refusal.value.errors) == ["unlogged_tables"]
    reason = "unlogged tables and 2 partitions exclude each other: PostgreSQL 18 has no unlogged partitioned tables"
    assert refusal.value.errors["unlogged_tables"][0].startswith(reason)
    taken_later = prepare(cluster_18, "postgres")
    Run.objects.filter(pk=taken_later.pk).update(options=taken_later.options | options)
    failed = execute(taken_later)
    assert (failed.status, failed.command) == (Status.FAILED, [])
    assert failed.error == f"unlogged_tables: {refusal.value.errors['unlogged_tables'][0]}"
    assert datasets.facts(cluster_18, "postgres").scale == 1


def test_a_pgbench_18_leaves_the_partitioned_table_of_unlogged_partitions_logged(
    cluster_18: Cluster, settings: Settings
) -> None:
    settings.PGBENCH = str(bindirs()["18"] / "pgbench")
    done = execute(prepare(cluster_18, "postgres", unlogged_tables=True, partitions=2))
    assert (done.status, done.error) == (Status.SUCCEEDED, "")


def test_what_would_not_fit_on_the_disk_is_refused_with_both_figures(cluster: Cluster, database: str) -> None:
    with pytest.raises(Refused, match=r"\(scale 99,999\) takes about 1,\d\d\d,\d\d\d MB and [\d,]+ MB are free"):
        prepare(cluster, database, scale=99_999)


def test_an_unknown_database_is_refused_at_its_field(cluster: Cluster) -> None:
    with pytest.raises(InvalidTarget) as refusal:
        prepare(cluster, "nowhere")
    assert list(refusal.value.errors) == ["database"]
    assert "there is no database 'nowhere'" in refusal.value.errors["database"][0]


def test_a_failed_preparation_says_what_it_left(cluster: Cluster, postgres: PostgresServer, database: str) -> None:
    run = prepare(cluster, database)
    with postgres.connect() as session:
        session.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    failed = execute(run)
    assert failed.status == Status.FAILED
    assert "read-only transaction" in failed.error
    assert failed.error.endswith(f"the pgbench tables of {database} are not there: prepare again")
    assert not datasets.facts(cluster, database).tables_exist


def test_a_cancelled_preparation_says_what_it_left_and_may_be_repeated(cluster: Cluster, database: str) -> None:
    run = prepare(cluster, database, scale=30)

    def cancel_under_way() -> None:
        wait_for(run, lambda found: (found.progress_percent or 0) > 5)
        Run.objects.get(pk=run.pk).request_cancel()
        connections.close_all()

    canceller = threading.Thread(target=cancel_under_way)
    canceller.start()
    done = execute(run)
    canceller.join()
    assert done.status == Status.CANCELLED
    assert done.error.endswith(f"the pgbench tables of {database} are empty now: prepare again")
    assert 5 < done.progress_percent < 80
    assert datasets.facts(cluster, database).ours
    assert Dataset.objects.get().is_unfinished
    assert execute(prepare(cluster, database)).status == Status.SUCCEEDED
    assert not Dataset.objects.get().is_unfinished


def without_keys(postgres: PostgresServer, database: str, *, forbidden: bool) -> None:
    """Let the server refuse the keys, with which a preparation ends: the rows are there by then."""
    with postgres.connect(database) as session:
        session.execute("DROP EVENT TRIGGER IF EXISTS no_keys")
        if forbidden:
            body = "BEGIN RAISE 'no keys today'; END"
            session.execute(
                f"CREATE OR REPLACE FUNCTION no_keys() RETURNS event_trigger LANGUAGE plpgsql AS $${body}$$"
            )
            trigger = "CREATE EVENT TRIGGER no_keys ON ddl_command_start WHEN TAG IN ('ALTER TABLE')"
            session.execute(f"{trigger} EXECUTE FUNCTION no_keys()".encode())


def test_full_tables_of_a_preparation_that_broke_off_are_known_and_loaded_by_nobody(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    without_keys(postgres, database, forbidden=True)
    failed = execute(prepare(cluster, database))
    assert failed.status == Status.FAILED
    assert "no keys today" in failed.error
    assert failed.error.endswith(f"the pgbench tables of {database} are unfinished now: prepare again")
    found = datasets.facts(cluster, database)
    assert (found.ours, found.unfinished, found.complete, found.scale) == (True, True, False, 1)
    with pytest.raises(Refused, match=f"{database} holds pgbench tables that a broken-off preparation left: prepare"):
        load(cluster, database)
    without_keys(postgres, database, forbidden=False)
    assert execute(prepare(cluster, database)).status == Status.SUCCEEDED
    assert datasets.facts(cluster, database).complete


def test_full_tables_that_nobody_could_mark_are_known_by_what_was_noted_while_they_were_filled(
    cluster: Cluster, postgres: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_keys(postgres, database, forbidden=True)
    monkeypatch.setattr(partial_datasets, "leave", lambda run: "")  # as where the server is away at its end
    failed = execute(prepare(cluster, database, scale=3))
    assert (failed.status, len(failed.conditions["tables_made"])) == (Status.FAILED, 4)
    found = datasets.facts(cluster, database)
    assert (found.ours, found.unfinished, found.complete, found.scale) == (True, True, False, 3)
    with pytest.raises(Refused, match=f"{database} holds pgbench tables that a broken-off preparation left: prepare"):
        load(cluster, database)
    with postgres.connect(database) as session:
        session.execute("DROP TABLE pgbench_accounts; CREATE TABLE pgbench_accounts (precious int)")
    with pytest.raises(Refused, match=r"pgbench_accounts.* that this panel did not make"):
        prepare(cluster, database)


def test_whole_tables_whose_mark_somebody_took_away_are_theirs(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    assert execute(prepare(cluster, database)).conditions["tables_made"]
    with postgres.connect(database) as session:
        session.execute("COMMENT ON TABLE pgbench_accounts IS NULL")
    found = datasets.facts(cluster, database)
    assert (found.ours, found.unfinished) == (False, False)


def test_what_a_lost_worker_left_is_marked_by_the_reaper_and_may_be_dropped(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    run = Run.objects.claim(str(prepare(cluster, database).pk), "local")
    assert run is not None
    run.write(status=Status.RUNNING, conditions={"tables_before": partial_datasets.before(run)})
    with postgres.connect(database) as session:
        session.execute("CREATE TABLE pgbench_branches (bid int); INSERT INTO pgbench_branches VALUES (1)")
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert [lost.pk for lost in reaper.reap()] == [run.pk]
    run.refresh_from_db()
    assert run.error.endswith(f"the pgbench tables of {database} are unfinished now: prepare again")
    assert datasets.facts(cluster, database).ours
    dropped = execute(prepare(cluster, database, initialize_steps="d"))
    assert (dropped.status, dropped.error, dropped.validity) == (Status.SUCCEEDED, "", Validity.VALID)
    assert not datasets.facts(cluster, database).tables_exist
    assert not Dataset.objects.exists()


def test_tables_of_others_that_a_broken_off_preparation_never_touched_stay_theirs(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    with postgres.connect(database) as session:
        session.execute("CREATE TABLE pgbench_accounts (precious int); INSERT INTO pgbench_accounts VALUES (1)")
        session.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    failed = execute(prepare(cluster, database, confirm=database))
    assert (failed.status, "prepare again" in failed.error) == (Status.FAILED, False)
    assert not datasets.facts(cluster, database).ours
    with pytest.raises(Refused, match="pgbench_accounts that this panel did not make"):
        prepare(cluster, database)


def test_tables_that_others_made_after_a_broken_off_preparation_are_theirs(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    without_keys(postgres, database, forbidden=True)
    execute(prepare(cluster, database))
    with postgres.connect(database) as session:
        session.execute("DROP TABLE pgbench_accounts; CREATE TABLE pgbench_accounts (precious int)")
    with pytest.raises(Refused, match=r"pgbench_accounts.* that this panel did not make"):
        prepare(cluster, database)


def test_a_run_without_its_tables_is_refused_with_the_remedy(cluster: Cluster, database: str) -> None:
    with pytest.raises(Refused, match=f"{database} lacks pgbench tables: prepare a dataset first"):
        load(cluster, database)


def test_a_role_may_use_our_tables_but_is_given_no_others(
    cluster: Cluster, postgres: PostgresServer, database: str
) -> None:
    postgres.create_owner_and_database("guest", "guest-password", "of_guest")
    known = cluster.role_passwords.model(cluster=cluster, role="guest")
    known.password = "guest-password"
    known.save(force_insert=True)
    execute(prepare(cluster, database))
    done = execute(load(cluster, database, user="guest", builtin="tpcb-like"))
    assert (done.status, done.error, done.role) == (Status.SUCCEEDED, "", "guest")
    Dataset.objects.all().delete()
    with postgres.connect(database) as session:
        session.execute("REVOKE UPDATE ON pgbench_accounts FROM guest")
    with pytest.raises(Refused, match="role guest may not UPDATE"):
        load(cluster, database, user="guest", builtin="tpcb-like")


def test_writing_to_a_protected_cluster_needs_the_databases_name_typed(cluster: Cluster, database: str) -> None:
    execute(prepare(cluster, database))
    cluster.edit(None, protected=True)
    with pytest.raises(Refused, match=f"cluster live is protected and tpcb-like writes.*{database}"):
        load(cluster, database, builtin="tpcb-like")
    assert load(cluster, database).status == Status.QUEUED
    assert load(cluster, database, builtin="tpcb-like", confirm=database).status == Status.QUEUED


def load(cluster: Cluster, database: str, *, user: str = "", confirm: str = "", **options: object) -> Run:
    """A queued load."""
    target = {"cluster": str(cluster.pk), "database": database, "user": user}
    return submit_one(target=target, options=short(**options), author=None, confirm=confirm)
