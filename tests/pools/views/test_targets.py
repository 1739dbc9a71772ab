"""The choice of primary or standby in the form of a pool."""

import pytest
from django.test import Client
from django.urls import reverse

from pools.models import NodeRole
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler

pytestmark = pytest.mark.django_db


def test_the_form_offers_a_standby_where_there_is_one(staff: Client) -> None:
    cluster = a_cluster()
    a_pooler()
    url = f"{reverse('pool-create')}?cluster={cluster.pk}"
    assert 'name="target"' not in staff.get(url).content.decode()
    node = a_node(cluster)
    assert 'name="target"' in staff.get(url).content.decode()
    pool = a_pool(cluster=cluster, target=NodeRole.STANDBY)
    node.delete()
    page = staff.get(reverse("pool-edit", args=[pool.pk])).content.decode()
    assert '<option value="standby" selected>' in page
    assert "a standby, to read only" in staff.get(reverse("pool-detail", args=[pool.pk])).content.decode()
