"""The REST API of a look into a server; the figures are shown right in tests/live/pools/clusters/test_activity.py."""

import uuid

import pytest

from pools.clusters import activity
from pools.clusters.activity import IdleMemory
from pools.clusters.process_memory import Why
from tests.callers import anonymous, bearer
from tests.pools.api.conftest import make_cluster
from tests.pools.views.test_insights import a_look

pytestmark = pytest.mark.django_db


def url_of(cluster):
    return f"/api/v1/clusters/{cluster.pk}/insights/"


def test_a_look_reads_as_json(admin, cluster, monkeypatch):
    monkeypatch.setattr(activity, "of_place", lambda place: a_look(cluster, idle=IdleMemory(2, None, Why.ELSEWHERE)))
    read = admin.get(url_of(cluster)).json()
    assert (read["server"], read["connections"], read["sees_all"]) == ({"host": "127.0.0.1", "port": 1}, 3, True)
    assert read["by_database"] == [
        {"name": "shop", "others": 0, "connections": 3, "states": {"active": 1, "idle": 2}},
        {"name": "", "others": 2, "connections": 4, "states": {"idle": 4}},
    ]
    idle = read["idle_memory"]
    assert (idle["measured"], idle["each_low_bytes"], idle["total_high_bytes"]) == (False, 2**20, 36 * 2**20)
    assert "not measured" in idle["basis"]
    memory = read["memory"]
    assert (memory["fits"], memory["memory_bytes"], memory["shared_buffers_share"]) == (False, 4 * 2**30, 0.25)
    assert sum(term["bytes"] for term in memory["terms"]) == memory["total_bytes"]
    assert memory["over_by_bytes"] == memory["total_bytes"] - memory["memory_bytes"]
    assert [one["setting"] for one in memory["changes"]] == ["work_mem", "max_connections"]


def test_who_may_look_and_what_is_not_there(admin, cluster):
    assert admin.get(url_of(cluster)).status_code == 502
    assert admin.get(url_of(cluster), {"node": "999"}).status_code == 404
    assert admin.post(url_of(cluster)).status_code == 405
    assert anonymous().get(url_of(cluster)).status_code == 401
    assert bearer("read").get(url_of(make_cluster("other"))).status_code == 502
    assert admin.get(f"/api/v1/clusters/{uuid.uuid4()}/insights/").status_code == 404


QUERY = "UPDATE card SET owner = 'ann@example.org' WHERE number = 4111111111111111"
OPEN = {
    "pid": 7,
    "database": "shop",
    "role": "app",
    "application": "web",
    "client": None,
    "state": "active",
    "transaction_s": 1.0,
    "in_state_s": 1.0,
    "wait_event_type": None,
    "wait_event": None,
}


def test_the_data_in_a_statement_is_shown_to_admins_alone(cluster, monkeypatch):
    monkeypatch.setattr(
        activity,
        "of_place",
        lambda place: a_look(cluster, transactions=[activity.transaction(OPEN | {"query": QUERY})]),
    )
    for scopes, text in ((("read",), None), (("read", "run", "apply"), None), (("admin",), QUERY)):
        answer = bearer(*scopes).get(url_of(cluster))
        (shown,) = answer.json()["transactions"]
        assert (shown["query"], shown["text"]) == ("UPDATE card SET owner = $1 WHERE number = $2", text)
