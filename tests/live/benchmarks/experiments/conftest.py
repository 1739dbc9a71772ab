"""Experiments carried out by a real worker on real servers, shortened for CI."""

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import pytest
from psycopg import sql

from benchmarks.experiments import conclusions, lifecycle, results, start
from benchmarks.experiments.results import Result
from benchmarks.experiments.start import ExperimentRequest
from benchmarks.models import Experiment
from panel.quickstart.servers import PostgresServer
from pools.clusters import health_check
from pools.inventory import poolers
from pools.models import Cluster, Pooler
from tests.live.panel_programs import TestWorker

WITHIN_S = 280
CONTENTION_PERCENT = 25  # the panel's default, from which it calls a run suspect
SHORT = {"duration": 3}
CarryOut = Callable[..., Result]
OWN = "pooldeck!_experiment!_%"
DATABASES = "SELECT datname FROM pg_database WHERE datname LIKE %s ESCAPE '!'"
ROLES = "SELECT rolname FROM pg_roles WHERE rolname LIKE %s ESCAPE '!'"
CHANGED = "SELECT FROM pg_file_settings WHERE sourcefile LIKE '%postgresql.auto.conf' LIMIT 1"


@pytest.fixture(autouse=True)
def left_clean(postgres: PostgresServer) -> Iterator[None]:
    """Remove what a failed experiment left on the server, which outlives the panel's memory of it.

    The next test's experiment has the same number, and so the same names. Set up first, it is the last to clean.
    """
    yield
    with postgres.connect() as session:
        for (name,) in session.execute(DATABASES, [OWN]).fetchall():
            session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        for (name,) in session.execute(ROLES, [OWN]).fetchall():
            session.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))
        if session.execute(CHANGED).fetchone() is not None:
            session.execute("ALTER SYSTEM RESET ALL")
            session.execute("SELECT pg_reload_conf()")


@pytest.fixture
def author(db: None, django_user_model: Any) -> Any:
    """Whose experiments they are."""
    return django_user_model.objects.create_superuser("dba")


@pytest.fixture
def checked(cluster: Cluster, pooler: Pooler) -> Cluster:
    """The cluster with what a check found of it, and its PgBouncer."""
    health_check.check_cluster(cluster)
    poolers.check(pooler)
    return cluster


@pytest.fixture
def carry_out(checked: Cluster, worker: TestWorker, author: Any) -> CarryOut:
    """Start a playbook and carry it on until it has ended; its figures are printed for the log of a failure."""

    def run(playbook: str, within_s: int = WITHIN_S, **asked: Any) -> Result:
        request = {"options": SHORT, "dataset": {"scale": 1}, "seed": 1, "cluster": checked, "author": author} | asked
        found = results.of(until_ended(start.start(ExperimentRequest(playbook=playbook, **request)), within_s))
        for one in found.arms:
            print(one.spec.key, one.value("tps"), one.verdict, one.skipped, one.arm.words if one.arm else "")
        print(found.experiment.state, found.experiment.reasons, conclusions.text_of(found))
        return found

    return run


def had_the_host(found: Result) -> bool:
    """Whether hardly anything else worked beside its runs.

    Only then is the size of an effect asserted, and its sign always; `tests.bench.playbooks` measures the sizes.
    """
    others = [run.conditions["meanwhile"].get("others_percent", 0) for run in found.runs if run.conditions]
    print(f"others' work in percent of the host, by run: {others}")
    return median(others) < CONTENTION_PERCENT


def at_a_rate(experiment: Experiment, tps: int = 200) -> Experiment:
    """Let the loads of advice leave the processors to the tests beside it; a request for advice has no rate."""
    experiment.overrides = {**experiment.overrides, "rate": tps}
    experiment.save(update_fields=["overrides"])
    return experiment


def until_ended(experiment: Experiment, within_s: int = WITHIN_S) -> Experiment:
    """Carry it on as beat does; fails at the deadline with where it was."""
    deadline = time.monotonic() + within_s
    while not experiment.has_ended:
        assert time.monotonic() < deadline, f"{experiment} is {experiment.state} ({experiment.phase}) still"
        lifecycle.advance_all()
        time.sleep(0.2)
        experiment.refresh_from_db()
    return experiment
