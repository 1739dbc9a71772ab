"""The records of entries, from what a check of their pooler found."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pools.clusters import cluster_index
from pools.clusters.cluster_index import ClusterIndex
from pools.inventory import clusters, entries
from pools.models import Cluster, Entry, PoolState
from pools.poolers.console_sample import FoundEntry
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, an_entry, checked

pytestmark = pytest.mark.django_db


def found(name: str = "shop", **fields: object) -> FoundEntry:
    return FoundEntry(**{"name": name, "host": "db1", "port": 5432, "database": "shop", "size": 20, **fields})


def record(pooler: object, *those: FoundEntry) -> None:
    entries.record(pooler, those, ClusterIndex.read())


def test_an_entry_keeps_its_id_while_the_pooler_has_its_name() -> None:
    pooler = a_pooler(config_dir="")
    record(pooler, found(), found("left"))
    first = Entry.objects.get(name="shop")
    record(pooler, found(size=30, paused=True))
    (again,) = Entry.objects.all()
    assert (again.pk, again.size, again.paused) == (first.pk, 30, True)


def test_what_did_not_change_is_not_written() -> None:
    pooler = a_pooler(config_dir="")
    record(pooler, found())
    seen_at = Entry.objects.get().seen_at
    record(pooler, found())
    assert Entry.objects.get().seen_at == seen_at


def test_the_number_of_queries_does_not_grow_with_the_entries() -> None:
    pooler, index = a_pooler(config_dir=""), ClusterIndex.read()
    counts = []
    for names in ("a", "abc"):
        with CaptureQueriesContext(connection) as queries:
            entries.record(pooler, [found(name, size=len(names)) for name in names], index)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_pools_of_the_panel_are_told_from_entries_of_others() -> None:
    pooler = a_pooler()
    live = a_pool(pooler=pooler, name="live", state=PoolState.APPLIED, applied_at=timezone.now())
    a_pool(pooler=pooler, name="refused", state=PoolState.ROLLED_BACK)  # the operator has that name
    record(pooler, found("live"), found("refused"))
    assert dict(Entry.objects.values_list("name", "pool")) == {"live": live.pk, "refused": None}
    assert [entry.name for entry in entries.unmanaged()] == ["refused"]
    live.delete()
    assert [entry.name for entry in Entry.objects.all()] == ["refused"]


@pytest.mark.parametrize(
    ("host", "port", "is_found"),
    [
        ("db1", 5432, True),
        ("DB1.", 5432, True),
        ("db1", 5433, False),
        ("db2", 5432, True),  # a node
        ("db1,db2", 5432, True),
        ("db1,elsewhere", 5432, False),
        ("127.0.0.1", 5432, False),  # of the pooler's host, not of the panel's
    ],
)
def test_the_cluster_is_found_by_host_and_port(host: str, port: int, is_found: bool) -> None:
    cluster = a_cluster(host="db1", port=5432)
    a_node(cluster, host="db2", port=5432)
    pooler = a_pooler(config_dir="", host="pooler1")
    assert ClusterIndex.read().find(pooler, host, port) == (cluster if is_found else None)


def test_a_loopback_address_of_an_entry_is_the_poolers_host() -> None:
    cluster = a_cluster(host="db1", port=5432)
    pooler = a_pooler(config_dir="", host="db1")
    assert [ClusterIndex.read().find(pooler, host, 5432) for host in ("localhost", "::1", "/run/postgresql")] == (
        [cluster] * 3
    )


@pytest.mark.parametrize(("identifier", "is_same"), [("7", True), ("8", False), ("", False)])
def test_a_socket_is_the_same_server_where_the_system_identifier_says_so(
    identifier: str, is_same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = a_cluster(host="127.0.0.1", port=5432)
    checked(cluster, system_identifier="7", in_recovery=False)
    asked = []

    def identifier_at(at: Cluster, host: str, port: int) -> str:
        asked.append((host, port))
        return identifier

    monkeypatch.setattr(cluster_index, "_identifier_at", identifier_at)
    monkeypatch.setattr(cluster_index, "_answers", {})
    for _ in range(2):
        there = ClusterIndex.read().find(a_pooler(config_dir=""), "/run/postgresql", 5432)
        assert there == (cluster if is_same else None)
    assert asked == [("/run/postgresql", 5432)]


def test_entries_lead_to_a_cluster_as_soon_as_it_is_registered() -> None:
    entry = an_entry(host="db9", port=5432)
    made = clusters.new({"name": "late", "host": "db9", "port": 5432, "admin_user": "postgres"})
    clusters.save_new(made, {"state": "unreachable", "error": "x"})
    entry.refresh_from_db()
    assert entry.cluster == made
