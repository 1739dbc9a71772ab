"""The REST API of a cluster's servers, without any; with them: tests/live/pools/clusters/test_nodes.py."""

import uuid

import pytest

from pools.models import ClusterNode, NodeRole
from tests.callers import anonymous, bearer, queries_of
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler
from tests.pools.records import a_node

pytestmark = pytest.mark.django_db


def url_of(cluster, *rest):
    return "/".join(("/api/v1/clusters", str(cluster.pk), "nodes", *map(str, rest), ""))


def read(node):
    return {
        "id": node.pk,
        "host": "127.0.0.1",
        "port": node.port,
        "role": "standby",
        "state": "online",
        "error": "",
        "streaming": True,
        "lag_bytes": 0,
        "lag_s": 0.0,
        "timeline": None,
        "checked_at": None,
    }


def test_nodes_are_listed_and_read(admin, cluster):
    first, second = a_node(cluster, port=2), a_node(cluster, port=3)
    listed = admin.get(url_of(cluster)).json()
    assert (listed["count"], listed["results"]) == (2, [read(first), read(second)])
    assert admin.get(url_of(cluster, first.pk)).json() == read(first)


def test_a_clusters_status_names_its_primary_and_its_nodes(admin, cluster):
    node = a_node(cluster, port=2)
    status = admin.get(f"/api/v1/clusters/{cluster.pk}/").json()["status"]
    assert (status["primary"], status["nodes"]) == ({"host": "127.0.0.1", "port": 1}, [read(node)])
    ClusterNode.objects.update(in_recovery=False, timeline=2)
    status = admin.get(f"/api/v1/clusters/{cluster.pk}/").json()["status"]
    assert status["primary"] == {"host": "127.0.0.1", "port": 2}


def test_a_server_that_does_not_answer_is_a_bad_gateway(admin, cluster):
    answer = admin.post(url_of(cluster), {"host": "127.0.0.1", "port": 2, "admin_password": "cluster-secret"})
    assert (answer.status_code, ClusterNode.objects.count()) == (502, 0)
    assert answer.json()["detail"].startswith("connection refused: nothing listens at 127.0.0.1:2")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"host": ""}, "host"),
        ({"port": 0}, "port"),
        ({"port": "x"}, "port"),
        ({"admin_password": ""}, "admin_password"),
    ],
)
def test_bad_values_are_named_by_field(admin, cluster, change, field):
    values = {"host": "127.0.0.1", "port": 2, "admin_password": "cluster-secret"} | change
    answer = admin.post(url_of(cluster), values)
    assert (answer.status_code, list(answer.json())) == (400, [field])
    assert "secret" not in answer.content.decode()


def test_a_check_that_fails_is_an_answer(admin, cluster):
    node = a_node(cluster)
    answer = admin.post(url_of(cluster, node.pk, "check"))
    assert (answer.status_code, answer.json()["state"], answer.json()["role"]) == (200, "unreachable", "standby")
    assert answer.json()["lag_bytes"] is None


def test_a_node_is_removed_unless_pools_need_it(admin, cluster):
    node = a_node(cluster)
    pool = make_pool(cluster, make_pooler(), target=NodeRole.STANDBY)
    answer = admin.delete(url_of(cluster, node.pk))
    assert (answer.status_code, "is the last" in answer.json()["detail"]) == (409, True)
    pool.delete()
    assert admin.delete(url_of(cluster, node.pk)).status_code == 204
    assert admin.delete(url_of(cluster, node.pk)).status_code == 404


def test_wrong_methods_strangers_wrong_scopes_and_missing_ids(admin, cluster):
    node = a_node(cluster)
    one, check = url_of(cluster, node.pk), url_of(cluster, node.pk, "check")
    assert admin.put(one).status_code == 405
    assert admin.get(check).status_code == 405
    for url in (url_of(cluster), one):
        assert anonymous().get(url).status_code == 401
    weak = bearer("read", "run", "apply")
    assert weak.get(one).status_code == 200
    assert [weak.post(url_of(cluster)).status_code, weak.delete(one).status_code, weak.post(check).status_code] == [
        403,
        403,
        403,
    ]
    assert admin.get(url_of(cluster, 999)).status_code == 404
    assert admin.get(f"/api/v1/clusters/{uuid.uuid4()}/nodes/").status_code == 404
    assert admin.get(url_of(make_cluster("other"), node.pk)).status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_nodes(admin, cluster):
    a_node(cluster, port=2)
    lists = ("/api/v1/clusters/", url_of(cluster))
    once = [queries_of(admin, url) for url in lists]
    for port in (3, 4):
        a_node(cluster, port=port)
    a_node(make_cluster("other"))
    assert [queries_of(admin, url) for url in lists] == once
