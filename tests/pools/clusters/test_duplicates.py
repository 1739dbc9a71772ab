"""Servers that were registered twice."""

import pytest

from pools.clusters import duplicates
from tests.pools.records import a_cluster, a_pool, a_pooler, checked

pytestmark = pytest.mark.django_db


def test_the_same_address_is_the_same_server() -> None:
    first, second = a_cluster(port=5432), a_cluster(port=5432)
    a_cluster(port=5433)
    assert (list(duplicates.of_cluster(first)), list(duplicates.of_cluster(second))) == ([second], [first])
    edge, again = a_pooler(port=6432), a_pooler(port=6432)
    a_pooler(port=6433)
    assert list(duplicates.of_pooler(edge)) == [again]


def test_a_primary_is_known_by_its_identifier_under_another_name_of_its_host() -> None:
    described = {"system_identifier": "7", "in_recovery": False}
    main, other, standby, copy, unknown = (
        a_cluster(host=host, port=port)
        for host, port in (("db", 5432), ("10.0.0.5", 5432), ("10.0.0.6", 5432), ("10.0.0.7", 5433), ("x", 5432))
    )
    for cluster, found in (
        (main, described),
        (other, described),
        (standby, described | {"in_recovery": True}),
        (copy, described),
    ):
        checked(cluster, **found)
    assert list(duplicates.of_cluster(main)) == [other]
    assert list(duplicates.of_cluster(unknown)) == []


def test_all_pools_that_lead_to_a_server_are_found_whichever_record_they_are_of() -> None:
    first, second = a_cluster(port=5432), a_cluster(port=5432)
    pools = {a_pool(cluster=first), a_pool(cluster=second)}
    a_pool()
    assert set(duplicates.pools_of(first)) == pools
