"""Page of a cluster's activity while no server answers (tests/live covers those that do)."""

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from pools.clusters import activity
from pools.clusters.activity import Bar, IdleMemory, Insights, Part, StateTotal
from pools.clusters.memory_budget import GB, MB, MemoryBudget, Settings
from pools.clusters.process_memory import ProcessMemory, Why
from pools.clusters.topology import Place
from pools.models import Cluster
from tests import callers
from tests.pages import page_of
from tests.pools.records import a_cluster, a_node, checked

pytestmark = pytest.mark.django_db


def url_of(cluster: Cluster) -> str:
    return reverse("cluster-insights", args=[cluster.pk])


def a_look(cluster: Cluster, **fields: object) -> Insights:
    bar = Bar("shop", 3, (Part("active", 1, 0.0, 33.33), Part("idle", 2, 33.33, 66.67)))
    values = {
        "place": Place(cluster),
        "taken_at": cluster.created_at,
        "sees_all": True,
        "states": (StateTotal("active", 1, 0.5), StateTotal("idle", 2, 75.0)),
        "by_database": (bar, Bar("", 4, (Part("idle", 4, 0.0, 100.0),), others=2)),
        "by_role": (bar,),
        "by_application": (),
        "transactions": [],
        "waits": [{"type": "Lock", "event": "relation", "sessions": 3}],
        "idle": IdleMemory(2, ProcessMemory(2, 3 * MB, 5 * MB), None),
        "memory": MemoryBudget(Settings(100, 64 * MB, GB, 8 * MB, 64 * MB), 4 * GB, "as stated for the cluster"),
        "own_settings": [],
    } | fields
    return Insights(**values)


@pytest.fixture
def cluster() -> Cluster:
    return a_cluster(name="shop")


@pytest.fixture
def page(staff: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    """Render the page of an observation with these fields."""

    def of(**fields: object) -> str:
        monkeypatch.setattr(activity, "of_place", lambda place: a_look(cluster, **fields))
        return page_of(staff.get(url_of(cluster)))

    return of


def test_connections_waits_and_measured_memory_are_shown(page) -> None:
    shown = page()
    for words in ("longest 1 min 15 s", 'aria-label="1 active, 2 idle"', "2 more", "relation", ">measured<", "6.0 MB"):
        assert words in shown
    assert "the mean own memory of 2 of 2 idle sessions" in shown


def test_a_broken_budget_is_warned_of_with_what_to_change(page) -> None:
    shown = page()
    assert "The settings may use more memory than the server has" in shown
    assert "max_connections 100 × work_mem 64MB" in shown
    assert "<code>work_mem</code>" in shown
    assert "25.0 % of the memory" in shown


def test_an_estimate_is_never_shown_as_measured(page) -> None:
    shown = page(idle=IdleMemory(2, None, Why.FORBIDDEN))
    assert ">measured<" not in shown
    assert ">estimate<" in shown
    assert "1.0 MB – 18.0 MB" in shown
    assert "account may not read the memory of its processes" in shown


def test_the_memory_is_asked_for_where_it_is_not_known(page, cluster: Cluster) -> None:
    shown = page(memory=MemoryBudget(Settings(100, 64 * MB, GB, 8 * MB, 64 * MB), None))
    assert "How much memory does this server have?" in shown
    assert reverse("cluster-edit", args=[cluster.pk]) in shown
    assert "What to change" not in shown


def test_hidden_sessions_say_what_to_grant(page) -> None:
    shown = page(sees_all=False, states=(StateTotal("hidden", 3, None),))
    assert "Grant pg_monitor to see the queries and states of others" in shown
    assert "GRANT pg_monitor TO postgres;" in shown


def test_settings_of_roles_are_named(page) -> None:
    shown = page(own_settings=[{"database": "shop", "role": "app", "setting": "work_mem=1GB"}])
    assert "<code>work_mem=1GB</code> for role app in database shop" in shown


def test_a_server_that_does_not_answer_is_said(staff: Client, cluster: Cluster) -> None:
    shown = page_of(staff.get(url_of(cluster)))
    assert "The cluster could not be asked" in shown
    assert "nothing listens at 127.0.0.1:1" in shown


def test_another_server_can_be_looked_into(staff: Client, cluster: Cluster) -> None:
    checked(cluster, in_recovery=False)
    node = a_node(cluster)
    assert "nothing listens at 127.0.0.1:2" in page_of(staff.get(url_of(cluster), {"node": node.pk}))
    assert staff.get(url_of(cluster), {"node": "999"}).status_code == 404


def test_strangers_log_in_readers_look_and_nobody_posts(client: Client, reader: Client, cluster: Cluster) -> None:
    assert client.get(url_of(cluster)).url == f"/login/?next={url_of(cluster)}"
    assert reader.get(url_of(cluster)).status_code == 200
    assert reader.post(url_of(cluster)).status_code == 405
    assert reader.get(reverse("cluster-insights", args=[uuid.uuid4()])).status_code == 404


@pytest.mark.parametrize("is_staff", [True, False])
def test_the_data_in_a_statement_is_shown_to_admins_alone(
    client: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, is_staff: bool
) -> None:
    row = activity.transaction({"pid": 7, "state": "active", "query": "SELECT 'ann@example.org', 4111"})
    monkeypatch.setattr(activity, "of_place", lambda place: a_look(cluster, transactions=[row]))
    client.force_login(callers.person(staff=is_staff))
    shown = page_of(client.get(url_of(cluster)))
    assert ("ann@example.org" in shown) == ("4111" in shown) == is_staff
    assert ("SELECT $1, $2" in shown) != is_staff
