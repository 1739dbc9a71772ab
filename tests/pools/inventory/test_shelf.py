"""The shelf without a server: claims that end, and names that are taken meanwhile."""

from datetime import timedelta

import pytest
from django.utils import timezone

from pools.inventory import shelf
from pools.models import Cluster, ShelfEntry
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def claimed():
    """A claimed cluster, under its client's name."""
    cluster = a_cluster(name="orders")
    fields = {"name": "spare-1", "size": "small", "region": "nyc1", "claimed_at": timezone.now(), "tags": ["prod"]}
    return ShelfEntry.objects.create(cluster=cluster, kept={"databases": []}, **fields)


def test_a_return_restores_name_and_entry(claimed):
    shelf.release(claimed)
    entry = ShelfEntry.objects.get()
    assert (entry.cluster.name, entry.claimed_at, entry.tags, entry.kept) == ("spare-1", None, [], {})


def test_a_return_that_comes_late_leaves_the_next_claim_alone(claimed):
    later = claimed.claimed_at + timedelta(seconds=1)
    ShelfEntry.objects.update(claimed_at=later)
    shelf.release(claimed)
    assert (ShelfEntry.objects.get().claimed_at, Cluster.objects.get().name) == (later, "orders")


def test_a_return_finds_another_name_where_its_own_was_taken(claimed):
    a_cluster(name="spare-1")
    shelf.release(claimed)
    assert ShelfEntry.objects.get().cluster.name == f"spare-1-{claimed.cluster.key[:8]}"


def test_a_cluster_without_a_good_check_keeps_everything(claimed):
    assert shelf._present(claimed.cluster) == {}
