"""The API of a cluster's look-up of inbound users."""

import pytest

from tests.callers import anonymous, bearer
from tests.pools.records import a_cluster, a_pool


@pytest.fixture
def cluster(db):
    return a_cluster()


@pytest.fixture
def url(cluster):
    return f"/api/v1/clusters/{cluster.pk}/auth-query/"


def test_a_cluster_without_one_says_so(url):
    answer = bearer("read").get(url)
    assert (answer.status_code, answer.json()) == (200, {"role": "", "databases": []})


def test_a_cluster_that_does_not_answer_is_a_bad_gateway(cluster, url):
    cluster.edit(None, auth_role="pooldeck_auth")
    assert bearer("read").get(url).status_code == 502


def test_a_name_that_can_not_be_is_refused_by_field(url):
    answer = bearer("admin").post(url, {"role": "postgres"}, format="json")
    assert (answer.status_code, list(answer.json())) == (400, ["role"])


def test_it_can_not_be_taken_away_under_a_pool(cluster, url):
    cluster.edit(None, auth_role="pooldeck_auth")
    a_pool(cluster=cluster, user="", name="orders")
    answer = bearer("admin").delete(url)
    assert answer.status_code == 409
    assert "inbound users of orders are looked up by it" in answer.json()["detail"]


@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_nobody_gets_in_without_a_token(url, method):
    assert getattr(anonymous(), method)(url).status_code in (401, 403)


@pytest.mark.parametrize("method", ["post", "delete"])
def test_changing_it_takes_the_admin_scope(url, method):
    assert getattr(bearer("read", "run", "apply"), method)(url).status_code == 403


def test_other_methods_and_unknown_clusters_are_refused(url, cluster):
    assert bearer().put(url).status_code == 405
    assert bearer().get(url.replace(str(cluster.pk), "6f1ab2de-0000-4000-8000-000000000001")).status_code == 404
