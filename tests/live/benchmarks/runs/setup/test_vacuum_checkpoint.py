"""Vacuum, checkpoint and warm-up before the load that counts."""

from collections.abc import Iterator

import pytest

from benchmarks.analysis.arms import Outcome
from benchmarks.errors import InvalidOptions
from benchmarks.models import Status
from benchmarks.results import comparisons
from benchmarks.runs.setup.vacuum_checkpoint import why_no_checkpoint
from panel.quickstart.servers import PostgresServer
from pools.clusters import connect
from pools.models import Cluster
from tests.live.benchmarks.conftest import execute

VACUUMED = "SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts'"


def test_the_tables_are_vacuumed_and_a_checkpoint_is_done(submit, in_this_process, postgres, dataset):
    with postgres.connect(dataset) as session:
        before = session.execute(VACUUMED).fetchone()[0]
    done = execute(submit(vacuum=True, checkpoint=True))
    assert done.status == Status.SUCCEEDED, done.error
    assert set(done.conditions["vacuum"]["tables"]) >= {"pgbench_accounts", "pgbench_history"}
    assert done.conditions["checkpoint"]["seconds"] >= 0
    with postgres.connect(dataset) as session:
        assert session.execute(VACUUMED).fetchone()[0] > before


def test_a_warm_up_is_not_counted(submit, in_this_process):
    done = execute(submit(warm_up=2, duration=2))
    assert done.status == Status.SUCCEEDED, done.error
    assert 2 <= done.conditions["warm_up"]["seconds"] < 20
    assert done.samples.count() <= 3
    assert "-T 2" in " ".join(done.command)


def test_a_warm_up_tells_a_first_run_how_much_to_log(submit, in_this_process):
    done = execute(submit(warm_up=2, duration=2))
    reached = done.conditions["warm_up"]["tps"]
    assert 0.05 < reached / done.summary["tps"] < 20
    share = f"--sampling-rate={round(2_000 / reached, 4)}"
    assert share in done.command if reached > 2_000 else not any("sampling" in word for word in done.command)


def test_a_warm_up_that_fails_ends_the_run_in_the_programs_words(submit, in_this_process, monkeypatch):
    run = submit(warm_up=2)
    run.options["protocol"] = "none"
    run.save(update_fields=["options"])
    done = execute(run)
    assert (done.status, done.command) == (Status.FAILED, [])
    assert done.error.startswith("the warm-up ended with code ")
    assert "query mode" in done.error


def test_a_load_follows_a_warm_up_whose_clients_are_refused_and_is_refused_itself(submit, in_this_process):
    run = submit(warm_up=2, threads=1)
    run.options["clients"] = 150
    run.save(update_fields=["options"])
    done = execute(run)
    assert done.status == Status.FAILED
    assert "-c 150" in " ".join(done.command)
    assert done.conditions["warm_up"].keys() == {"seconds", "refused"}
    (subject,) = comparisons.subjects([done])
    assert subject.outcome is Outcome.REFUSED
    # 97 to 100 connect, beside few of the panel's: the sessions of the warm-up are gone by then
    assert 50 <= subject.refusal.refused <= 55


@pytest.fixture
def plain(postgres: PostgresServer, cluster: Cluster) -> Iterator[str]:
    """The cluster's login is a role that may read and write the load's tables, and nothing beside."""
    with postgres.connect() as session, postgres.connect("loaded") as loaded:
        session.execute("CREATE ROLE plain LOGIN PASSWORD 'plain-secret'")
        loaded.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO plain")
        cluster.admin_user, cluster.admin_password = "plain", "plain-secret"
        cluster.save()
        yield "plain"
        loaded.execute("DROP OWNED BY plain")
        session.execute("DROP OWNED BY plain")
        session.execute("DROP ROLE plain")


def test_a_checkpoint_that_the_role_may_not_do_is_refused_before_the_run(submit, cluster, plain, postgres):
    with pytest.raises(InvalidOptions) as caught:
        submit(checkpoint=True)
    assert caught.value.errors == {
        "checkpoint": [
            "the panel's role on live may not CHECKPOINT: grant it pg_checkpoint, or leave the checkpoint out"
        ]
    }
    with postgres.connect() as session:
        session.execute(f"GRANT pg_checkpoint TO {plain}")
    with connect.connect(cluster) as connection:
        assert why_no_checkpoint(cluster, connection) == ""


def test_a_vacuum_that_would_pass_over_the_tables_fails_the_run(submit, in_this_process, plain):
    done = execute(submit(vacuum=True))
    assert done.status == Status.FAILED
    assert done.error.startswith("the panel's role may not VACUUM pgbench_accounts, pgbench_branches, pgbench_history,")
    assert "vacuum" not in done.conditions
