"""The records of entries, from what a check of their pooler found."""

import socket

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.lib import addresses
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
        ("127.0.0.1", 5432, False),  # Loopback addresses belong to the pooler's host, not to the panel's.
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


@pytest.fixture
def hosts(monkeypatch, tmp_path):
    """This machine's list of hosts; no name server is asked, and no own interface has these addresses."""
    listed = tmp_path / "hosts"
    lines = (
        "127.0.0.1 localhost",
        "127.0.1.1 panel-host # of the installer",
        "10.1.0.5\tdb1.example.org db1",
        "# 10.1.0.6 db2",
    )
    listed.write_text("\n".join(lines))
    monkeypatch.setattr(addresses, "HOSTS", listed)
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *asked, **more: pytest.fail(f"a name server is asked for {asked[0]}")
    )


@pytest.mark.parametrize(
    ("registered", "reached", "host", "resolved", "is_found"),
    [
        ("10.1.0.5", "", "db1", {}, True),  # listed here, and the pooler runs here
        ("10.1.0.5", "", "DB1.example.org.", {}, True),
        ("db1", "", "10.1.0.5", {}, True),
        ("db1", "", "db1.example.org", {}, True),
        ("10.1.0.6", "", "db2", {}, False),  # commented out
        ("10.1.0.6", "", "db2", {"db2": ["10.1.0.6"]}, True),  # PgBouncer resolved the name to this address.
        # The last check reached the cluster at this address.
        ("cluster.internal", "10.1.0.6", "db2", {"db2": ["10.1.0.6"]}, True),
        ("cluster.internal", "10.1.0.7", "db2", {"db2": ["10.1.0.6"]}, False),
        ("10.1.0.6", "", "db2", {"db2": ["10.1.0.6", "10.1.0.7"]}, False),  # The name has the addresses of two servers.
        ("10.1.0.5", "", "db1", {"db1": ["10.1.0.9"]}, False),  # the pooler knows better
        ("10.1.0.5", "", "unheard.of", {}, False),
    ],
)
def test_a_name_is_matched_by_its_addresses(hosts, registered, reached, host, resolved, is_found) -> None:
    cluster = a_cluster(host=registered, port=5432)
    checked(cluster, ip_address=reached)
    found = ClusterIndex.read().find(a_pooler(config_dir=""), host, 5432, resolved)
    assert found == (cluster if is_found else None)
    assert ClusterIndex.read().find(a_pooler(config_dir=""), host, 5433, resolved) is None


def test_the_list_of_hosts_here_says_nothing_of_a_pooler_elsewhere_but_its_own_address(hosts) -> None:
    cluster, elsewhere = a_cluster(host="10.1.0.5", port=5432), a_pooler(config_dir="", host="pooler1")
    beside = a_pooler(config_dir="", host="db1.example.org")
    index = ClusterIndex.read()
    assert index.find(elsewhere, "db1", 5432) is None
    assert index.find(elsewhere, "db1", 5432, {"db1": ["10.1.0.5"]}) == cluster
    assert [index.find(beside, host, 5432) for host in ("127.0.0.1", "/run/postgresql")] == [cluster] * 2
    assert index.find(beside, "db9", 5432, {"db9": ["127.0.0.1"]}) == cluster


@pytest.mark.parametrize(("identifier", "is_same"), [("7", True), ("8", False), ("", False)])
def test_a_name_that_leads_to_this_machine_is_matched_by_the_system_identifier(
    hosts, identifier: str, is_same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = a_cluster(host="127.0.0.1", port=5432)
    checked(cluster, system_identifier="7", in_recovery=False)
    monkeypatch.setattr(cluster_index, "_identifier_at", lambda _at, _host, _port: identifier)
    monkeypatch.setattr(cluster_index, "_answers", {})
    for pooler in (a_pooler(config_dir=""), a_pooler(config_dir="", host="panel-host")):
        found = ClusterIndex.read().find(pooler, "panel-host", 5432)
        assert found == (cluster if is_same else None)


def test_the_addresses_that_the_pooler_tells_are_kept_and_match_a_cluster_that_is_registered_later(hosts) -> None:
    pooler = a_pooler(config_dir="")
    record(pooler, found(host="db2", addresses={"db2": ["10.1.0.6"]}))
    entry = Entry.objects.get()
    assert (entry.cluster, entry.unresolved) == (None, [])
    cluster = a_cluster(host="10.1.0.6", port=entry.port)
    entries.find_clusters()
    entry.refresh_from_db()
    assert entry.cluster == cluster
    record(pooler, found(host="db3,10.1.0.6,/run/postgresql,localhost"))
    assert Entry.objects.get().unresolved == ["db3"]


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


def automatic() -> dict[str, bool]:
    return dict(Entry.objects.values_list("name", "automatic"))


def test_what_the_console_no_longer_lists_was_made_by_the_fallback_that_it_proves() -> None:
    pooler = a_pooler(config_dir="")
    record(pooler, found("shop"), found("made", connections=3))
    assert automatic() == {"shop": False, "made": False}  # nothing tells yet
    record(pooler, found("shop"), FoundEntry(name="*", unused=1))
    assert automatic() == {"*": False, "shop": False, "made": True}
    assert (Entry.objects.get(name="made").connections, Entry.objects.get(name="*").is_known_by_name_alone) == (0, True)
    record(pooler, found("shop"), found("made", connections=1), FoundEntry(name="*", unused=1))
    assert automatic() == {"*": False, "shop": False, "made": True}
    proved_at = Entry.objects.get(name="*").seen_at
    record(pooler, found("shop"))  # what it made is forgotten; the entry itself is proved no more, nor disproved
    assert automatic() == {"*": False, "shop": False}
    assert Entry.objects.get(name="*").seen_at == proved_at
    record(pooler, found("shop"), FoundEntry(name="*", unused=1))
    assert Entry.objects.get(name="*").seen_at > proved_at


@pytest.mark.parametrize(
    ("pooler_fields", "is_kept"),
    [({"config_dir": ""}, True), ({"delivery": "ssh"}, True), ({"delivery": "pull"}, True), ({}, False)],
    ids=["watched", "by SSH", "fetched", "read by its worker"],
)
def test_only_files_tell_that_a_fallback_is_gone(pooler_fields: dict[str, str], is_kept: bool) -> None:
    pooler = a_pooler(**pooler_fields)
    entry = an_entry(pooler=pooler, name="*", size=5)
    record(pooler, found("shop"))
    assert [one.pk for one in Entry.objects.filter(name="*")] == [entry.pk] * is_kept


def test_an_entry_that_was_taken_out_of_the_files_is_not_taken_for_one_that_the_fallback_made() -> None:
    pooler = a_pooler(config_dir="")
    record(pooler, found("shop"), found("removed"), found("made"))
    record(pooler, found("shop"), FoundEntry(name="*", unused=1))  # two went, and one of them is unused
    assert automatic() == {"*": False, "shop": False}
