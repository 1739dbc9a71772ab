"""Ceilings hold by who starts a run and what it is aimed at, the lowest of them, before a database is touched."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from benchmarks.errors import InvalidOptions
from benchmarks.models import Ceiling, Holder, Run
from benchmarks.runs.submission import limits, submit
from pools.models import Cluster
from tests.benchmarks.records import the_options
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return a_cluster()


def member() -> User:
    return User.objects.create(username="ann")


def administrator() -> User:
    return User.objects.create(username="boss", is_staff=True)


def refused(author: User | None, cluster: Cluster, **options: Any) -> dict[str, list[str]]:
    try:
        limits.check(author, cluster, options)
    except InvalidOptions as error:
        return error.errors
    return {}


def test_without_a_ceiling_nothing_is_refused(cluster: Cluster):
    assert refused(member(), cluster, **the_options(clients=10_000)) == {}


def test_what_is_above_names_the_figure_the_ceiling_and_whose_it_is(cluster: Cluster):
    Ceiling.objects.create(cluster=cluster, holder=Holder.STAFF, clients=100, duration=60)
    author = member()
    assert refused(author, cluster, clients=100, duration=60) == {}
    assert refused(author, cluster, clients=1_200, duration=61) == {
        "clients": [
            f"1,200 is above the run limit of 100 (clients) for {cluster}, everyone but administrators: use at most "
            "100, or ask an admin to raise it"
        ],
        "duration": [
            f"61 s is above the run limit of 60 s (duration) for {cluster}, everyone but administrators: use at most "
            "60 s, or ask an admin to raise it"
        ],
    }


def test_what_holds_for_everyone_but_administrators_holds_neither_for_them_nor_for_the_installation(cluster: Cluster):
    Ceiling.objects.create(holder=Holder.STAFF, clients=5)
    assert refused(administrator(), cluster, clients=6) == {}
    assert refused(None, cluster, clients=6) == {}


def test_what_holds_for_everyone_holds_for_all(cluster: Cluster):
    Ceiling.objects.create(holder=Holder.EVERYONE, scale=50)
    for author in (member(), administrator(), None):
        assert refused(author, cluster, scale=51)["scale"][0].startswith(
            "51 is above the run limit of 50 (scale) for every cluster, everyone"
        )


def test_the_lowest_of_several_holds_and_other_clusters_count_not(cluster: Cluster):
    Ceiling.objects.create(holder=Holder.EVERYONE, clients=100)
    Ceiling.objects.create(cluster=cluster, holder=Holder.EVERYONE, clients=30)
    Ceiling.objects.create(cluster=cluster, holder=Holder.STAFF, clients=40, threads=2)
    Ceiling.objects.create(cluster=a_cluster(name="other"), holder=Holder.EVERYONE, clients=1)
    author = member()
    assert refused(author, cluster, clients=30, threads=2) == {}
    assert "run limit of 30" in refused(author, cluster, clients=31)["clients"][0]
    assert "run limit of 2 (threads)" in refused(author, cluster, threads=3)["threads"][0]


@pytest.mark.parametrize(
    ("option", "limit"),
    [
        ("concurrency", "clients"),
        ("pool_size", "clients"),
        ("idle_connections", "clients"),
        ("warm_up", "duration"),
    ],
)
def test_other_options_of_the_same_kind_are_held_to_it(cluster: Cluster, option: str, limit: str):
    Ceiling.objects.create(holder=Holder.EVERYONE, **{limit: 10})
    assert refused(None, cluster, **{option: 10}) == {}
    assert list(refused(None, cluster, **{option: 11})) == [option]


def test_threads_that_are_clients_are_held_to_the_ceiling_of_clients(cluster: Cluster):
    Ceiling.objects.create(holder=Holder.EVERYONE, clients=10)
    assert refused(None, cluster, threads=10, duration=5) == {}
    assert list(refused(None, cluster, threads=11, duration=5)) == ["threads"]
    assert refused(None, cluster, clients=5, threads=11) == {}


def test_a_number_of_transactions_does_not_pass_a_ceiling_of_time(cluster: Cluster):
    Ceiling.objects.create(cluster=cluster, holder=Holder.EVERYONE, duration=60)
    assert refused(None, cluster, transactions=10**9, duration=None) == {
        "transactions": [
            "counting transactions sets no time limit, but there is a run limit of 60 s (duration) for "
            f"{cluster}, everyone: set a duration instead"
        ]
    }


@pytest.mark.parametrize("repeat", [1, 2])
def test_a_run_above_is_refused_before_anything_is_asked_or_saved(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, repeat: int
):
    def touched(*_: Any, **__: Any) -> None:
        raise AssertionError("a server was asked")

    monkeypatch.setattr("pools.clusters.connect.connect", touched)
    Ceiling.objects.create(holder=Holder.EVERYONE, clients=3)
    asked = {"target": {"cluster": str(cluster.pk), "database": "shop"}, "options": {"clients": 4}, "author": member()}
    with pytest.raises(InvalidOptions, match="4 is above the run limit of 3"):
        submit.submit(submit.RunRequest(**asked, repeat=repeat))
    assert not Run.objects.exists()
