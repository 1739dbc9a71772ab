"""The choice of primary or standby in the form of a pool."""

import pytest
from django.test import Client
from django.urls import reverse

from pools.models import NodeRole
from tests.pages import page_of
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler

pytestmark = pytest.mark.django_db


def test_the_form_offers_a_standby_where_there_is_one(staff: Client) -> None:
    cluster = a_cluster()
    a_pooler()
    url = f"{reverse('pool-create')}?cluster={cluster.pk}"
    assert 'name="target"' not in page_of(staff.get(url))
    node = a_node(cluster)
    assert 'name="target"' in page_of(staff.get(url))
    pool = a_pool(cluster=cluster, target=NodeRole.STANDBY)
    node.delete()
    page = page_of(staff.get(reverse("pool-edit", args=[pool.pk])))
    assert '<option value="standby" selected>' in page
    assert "a standby, to read only" in page_of(staff.get(reverse("pool-detail", args=[pool.pk])))


def test_the_page_of_a_pool_says_which_standby_it_leads_to_and_what_is_given_there(staff: Client) -> None:
    cluster = a_cluster(memory_mb=4096)
    a_node(cluster, host="10.0.0.9", port=5433)
    a_pool(cluster=cluster, size=30)
    pool = a_pool(cluster=cluster, size=10, target=NodeRole.STANDBY)
    answer = staff.get(reverse("pool-detail", args=[pool.pk]))
    assert answer.context["budget"].allocated == 10
    assert "10.0.0.9:5433 now" in page_of(answer)


def test_the_page_of_a_pool_says_that_it_leads_through_a_pgpool(staff: Client) -> None:
    spread = a_pooler(name="spread", kind="pgpool")
    page = page_of(staff.get(reverse("pool-detail", args=[a_pool(through=spread).pk])))
    assert page.count(f'<a href="/poolers/{spread.pk}/">spread</a>') == 2


def test_the_form_counts_what_is_given_on_the_server_that_was_chosen(staff: Client) -> None:
    cluster = a_cluster(memory_mb=4096)
    a_node(cluster)
    a_pool(cluster=cluster, size=30)
    posted = {"cluster": str(cluster.pk), "target": "standby", "size": "10"}
    answer = staff.post(reverse("pool-choices"), posted)
    assert (answer.context["budget"].allocated, answer.context["takes"]) == (0, None)
    assert "on each standby" in page_of(answer)
