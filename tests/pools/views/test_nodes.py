"""The pages of a cluster's servers."""

import pytest
from django.test import Client
from django.urls import reverse

from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, NodeRole
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster, a_node, a_pool, checked

pytestmark = pytest.mark.django_db

TYPED = {"host": "127.0.0.1", "port": "2", "admin_password": "admin-secret"}
RECEIVER = {
    "application_name": "walreceiver",
    "client_addr": "10.0.0.2",
    "state": "streaming",
    "sync_state": "async",
    "unsent_bytes": 0,
    "unwritten_bytes": 8192,
    "unflushed_bytes": 16384,
    "unreplayed_bytes": 3 * 1024 * 1024,
    "write_lag_s": None,
    "flush_lag_s": 0.5,
    "replay_lag_s": 65.0,
}


@pytest.fixture
def cluster() -> Cluster:
    """A primary with a receiver."""
    cluster = a_cluster(name="shop")
    checked(cluster, in_recovery=False, timeline=1, replication=[RECEIVER])
    return cluster


def list_of(cluster: Cluster) -> str:
    return reverse("cluster-nodes", args=[cluster.pk])


def page(browser: Client, cluster: Cluster) -> str:
    return " ".join(page_of(browser.get(list_of(cluster))).split())


def test_each_server_is_shown_with_its_role_and_lag(staff: Client, cluster: Cluster) -> None:
    a_node(cluster, port=2, lag_bytes=5 * 1024 * 1024, lag_s=90.0)
    a_node(cluster, port=3, streaming=False, lag_bytes=1024, lag_s=None)
    answer = staff.get(list_of(cluster))
    shown = " ".join(page_of(answer).split())
    rows = answer.context["servers"]
    assert [(str(row.place), row.is_primary, row.is_cut_off, row.lag_percent) for row in rows] == [
        ("127.0.0.1:1", True, False, 0.0),
        ("127.0.0.1:2", False, False, 100.0),
        ("127.0.0.1:3", False, True, 0.0),
    ]
    for words in ("5.0 MB", "1 min 30 s", "no commit replayed yet", "nothing: it is cut off", "timeline 1"):
        assert words in shown
    for words in ("walreceiver", "streaming, async", "3.0 MB", "1 min 5 s", "0.5 s"):
        assert words in shown


def test_an_old_primary_that_came_back_is_warned_of(staff: Client, cluster: Cluster) -> None:
    a_node(cluster, port=2, in_recovery=False, timeline=2)
    assert "127.0.0.1:1 also reports that it is the primary" in page(staff, cluster)


def test_hidden_positions_say_what_to_grant(staff: Client, cluster: Cluster) -> None:
    hidden = dict.fromkeys(RECEIVER) | {"application_name": "walreceiver"}
    ClusterStatus.objects.filter(cluster=cluster).update(replication=[hidden])
    assert "GRANT pg_monitor TO postgres;" in page(staff, cluster)


def test_a_cluster_never_checked_has_a_page_too(staff: Client) -> None:
    shown = page(staff, a_cluster())
    assert "assumed to be the primary" in shown
    assert "No server received WAL" in shown


def test_the_page_costs_the_same_with_one_and_three_nodes(staff: Client, cluster: Cluster) -> None:
    a_node(cluster, port=2)
    once = queries_of(staff, list_of(cluster))
    for port in (3, 4):
        a_node(cluster, port=port)
    assert queries_of(staff, list_of(cluster)) == once


def test_a_refused_node_keeps_what_was_typed(staff: Client, cluster: Cluster) -> None:
    answer = staff.post(reverse("cluster-node-add", args=[cluster.pk]), TYPED | {"admin_password": "not-it"})
    assert answer.status_code == 200
    assert list(answer.context["form"].errors) == ["admin_password"]
    assert 'value="not-it"' in page_of(answer)
    assert "no-store" in answer.headers["Cache-Control"]
    assert not ClusterNode.objects.exists()


def test_a_node_that_does_not_answer_is_said_above_the_form(staff: Client, cluster: Cluster) -> None:
    answer = staff.post(reverse("cluster-node-add", args=[cluster.pk]), TYPED)
    assert "connection refused: nothing listens at 127.0.0.1:2" in answer.context["unreachable"]
    assert not ClusterNode.objects.exists()


def test_no_password_is_asked_where_none_is_stored(staff: Client) -> None:
    cluster = a_cluster(admin_password="")
    assert "admin_password" not in page_of(staff.get(reverse("cluster-node-add", args=[cluster.pk])))


def test_all_servers_are_asked_on_demand(staff: Client, cluster: Cluster) -> None:
    node = a_node(cluster)
    answer = staff.post(reverse("cluster-nodes-check", args=[cluster.pk]))
    assert (answer.status_code, answer.url) == (302, list_of(cluster))
    node.refresh_from_db()
    assert node.state == ClusterState.UNREACHABLE


def test_a_node_is_forgotten_unless_pools_need_it(staff: Client, cluster: Cluster) -> None:
    node = a_node(cluster)
    remove = reverse("cluster-node-remove", args=[cluster.pk, node.pk])
    pool = a_pool(cluster=cluster, name="reading", target=NodeRole.STANDBY)
    assert "pool reading routes to a standby" in page_of(staff.post(remove, follow=True))
    pool.delete()
    assert "127.0.0.1:2 was removed from the panel" in page_of(staff.post(remove, follow=True))
    assert not ClusterNode.objects.exists()
    assert staff.post(remove).status_code == 404


def test_a_node_of_another_cluster_is_not_found(staff: Client, cluster: Cluster) -> None:
    node = a_node(a_cluster())
    assert staff.post(reverse("cluster-node-remove", args=[cluster.pk, node.pk])).status_code == 404


def test_strangers_log_in_readers_look_and_only_staff_acts(client: Client, reader: Client, cluster: Cluster) -> None:
    node = a_node(cluster)
    add, check = (reverse(f"cluster-{name}", args=[cluster.pk]) for name in ("node-add", "nodes-check"))
    remove = reverse("cluster-node-remove", args=[cluster.pk, node.pk])
    for url in (list_of(cluster), add):
        assert client.get(url).url == f"/login/?next={url}"
    shown = page(reader, cluster)
    assert add not in shown
    assert remove not in shown
    assert reader.get(add).status_code == 403
    for url in (add, check, remove):
        assert reader.post(url, TYPED).status_code == 403
    for url in (check, remove):
        assert reader.get(url).status_code == 405
    assert ClusterNode.objects.exists()
