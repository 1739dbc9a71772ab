"""Which pooler gets the pools of clients that name only a cluster."""

import pytest

from core.accounts.models import Team
from pools.inventory import pooler_choice
from pools.inventory.pooler_choice import NoPooler
from pools.models import ShelfEntry
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db


def test_the_only_pgbouncer_is_chosen_beside_other_kinds():
    a_pooler(kind="pgpool"), a_pooler(kind="haproxy")
    only = a_pooler()
    assert pooler_choice.of_cluster(a_cluster()) == only


def test_the_one_with_most_pools_of_the_cluster_is_chosen():
    cluster, first, second = a_cluster(), a_pooler(), a_pooler()
    for pooler in (first, second, second):
        a_pool(cluster=cluster, pooler=pooler)
    for _ in range(5):
        a_pool(pooler=first)
    assert pooler_choice.of_cluster(cluster) == second


def test_the_shelf_decides_before_all():
    cluster, chosen = a_cluster(), a_pooler(kind="haproxy")
    a_pool(cluster=cluster)
    ShelfEntry.objects.create(cluster=cluster, name=cluster.name, size="small", region="nyc1", pooler=chosen)
    assert pooler_choice.of_cluster(cluster) == chosen


def test_nothing_is_guessed():
    cluster = a_cluster()
    with pytest.raises(NoPooler, match="register one"):
        pooler_choice.of_cluster(cluster)
    a_pooler(name="one"), a_pooler(name="two")
    with pytest.raises(NoPooler, match="one, two"):
        pooler_choice.of_cluster(cluster)


def test_of_two_pools_of_a_name_the_chosen_poolers_is_found():
    cluster, first, second = a_cluster(), a_pooler(), a_pooler()
    a_pool(cluster=cluster, pooler=first, name="web")
    wanted = a_pool(cluster=cluster, pooler=second, name="web")
    a_pool(cluster=cluster, pooler=second)
    assert pooler_choice.find_pool(cluster, "web") == wanted
    assert pooler_choice.find_pool(cluster, "we\0b") is None


def test_lines_of_a_pooler_lead_to_clusters_of_its_team_and_to_those_shared_with_it():
    team = Team.objects.create(name="Payments")
    own, _theirs, shared = a_cluster(team=team), a_cluster(), a_cluster()
    shared.shared_with.add(team)
    assert set(pooler_choice.usable_clusters(a_pooler(team=team))) == {own, shared}
