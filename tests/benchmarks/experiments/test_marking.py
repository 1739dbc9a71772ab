"""What an experiment makes for itself: marked, and left out of lists, warnings and the dashboard unless asked for."""

import pytest
from django.test import Client

from pools.inventory import budget
from pools.models import EventKind, PoolState
from pools.models.identifiers import experiment_of
from pools.monitoring.metric_values import all_values
from tests import callers
from tests.benchmarks.experiments.records import a_measured_experiment
from tests.benchmarks.records import a_finished_run
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, checked

MADE, REFUSED = "pooldeck_experiment_7_p1", "pooldeck_experiment_7_p2"


@pytest.fixture
def cluster(db):
    """A cluster of 97 connections: a person's pool has 10, an experiment's all the others."""
    cluster = a_cluster(name="orders")
    checked(cluster)
    a_pool(name="shop", cluster=cluster, size=10, state=PoolState.APPLIED)
    a_pool(name=MADE, cluster=cluster, size=87, state=PoolState.APPLIED, made_for="experiment 7")
    a_pool(name=REFUSED, cluster=cluster, state=PoolState.FAILED, state_reason="no", made_for="experiment 7")
    return cluster


@pytest.fixture
def staff(db, client: Client) -> Client:
    client.force_login(callers.person())
    return client


@pytest.fixture
def runs(db):
    """A run that a person started, and those of an experiment."""
    experiment = a_measured_experiment({"10-scram-none": [100.0], "10-scram-pgbouncer": [150.0]})
    return a_finished_run(50, name="by hand"), experiment


def names(answer):
    return [row["name"] for row in answer.json()["results"]]


def test_the_api_lists_pools_of_people_and_all_where_asked(cluster):
    api = callers.bearer("read")
    assert names(api.get("/api/v1/pools/")) == ["shop"]
    found = api.get("/api/v1/pools/?experiments=true").json()["results"]
    assert {row["name"]: row["made_for"] for row in found} == {
        "shop": "",
        MADE: "experiment 7",
        REFUSED: "experiment 7",
    }


def test_the_page_of_pools_says_what_it_leaves_out_and_shows_it_where_asked(staff, cluster):
    page = page_of(staff.get("/pools/"))
    assert MADE not in page
    assert "2 more were made by experiments for themselves." in page
    assert "made for experiment 7" in page_of(staff.get("/pools/?experiments=true"))


def test_runs_of_experiments_are_left_out_unless_asked_for_by_any_name(runs):
    by_hand, experiment = runs
    api = callers.bearer("read")
    assert [row["id"] for row in api.get("/api/v1/runs/").json()["results"]] == [str(by_hand.pk)]
    assert api.get("/api/v1/runs/?experiments=true").json()["count"] == 3
    for asked in (f"experiment={experiment.pk}", f"group={experiment.pk}"):
        assert api.get(f"/api/v1/runs/?{asked}").json()["count"] == 2


def test_the_page_of_runs_says_what_it_leaves_out_and_shows_it_where_asked(staff, runs):
    page = page_of(staff.get("/runs/"))
    assert ("by hand" in page, "2 more were made by experiments for themselves." in page) == (True, True)
    assert len(staff.get("/runs/?experiments=true").context["page"]) == 3


def test_the_dashboard_counts_and_lists_neither(staff, cluster, runs):
    context = staff.get("/").context
    assert [row["pool"].name for row in context["rows"]] == ["shop"]
    assert (context["totals"]["pools"]["all"], context["totals"]["runs"]["all"]) == (1, 1)
    assert [row["run"].name for row in context["runs"]] == ["by hand"]
    assert context["troubles"]["shown"] == []


def test_no_warning_says_that_the_budget_is_full_of_an_experiments_pools(cluster):
    figures = budget.of_cluster(cluster)
    assert (figures.available, figures.allocated, figures.lasting, figures.free) == (97, 97, 10, 0)
    given = [value.value for value in all_values({}) if value.kind == EventKind.BUDGET]
    assert given == [pytest.approx(100 * 10 / 97)]


@pytest.mark.parametrize(
    ("name", "experiment"),
    [
        ("pooldeck_experiment_12", "experiment 12"),
        ("pooldeck_experiment_12_md5", "experiment 12"),
        ("pooldeck_experiments", ""),
        ("shop", ""),
    ],
)
def test_databases_and_roles_are_known_by_their_names(name, experiment):
    assert experiment_of(name) == experiment
