"""Registering, changing and removing clusters that can't be reached (tests/live has those that can)."""

from typing import Any

import pytest
from pytest_django import Settings

from core.lib.private_text import for_admins
from panel.quickstart.ports import free_port
from pools.clusters import health_check
from pools.errors import IllegalTransition, Stale
from pools.inventory import clusters
from pools.inventory.clusters import ClusterValues, InvalidCluster
from pools.models import Cluster, ClusterState, PoolState
from tests.certificates import self_signed
from tests.pools.conftest import Asked
from tests.pools.records import a_cluster, a_pool, checked, know_password

pytestmark = pytest.mark.django_db


@pytest.fixture
def typed() -> dict[str, Any]:
    """What a person types for a cluster where nothing listens."""
    return {
        "name": "demo",
        "host": "127.0.0.1",
        "port": free_port(),
        "admin_user": "postgres",
        "admin_password": "admin-secret",
        "memory_mb": 1024,
        "protected": False,
    }


def test_each_field_that_can_be_changed_has_its_type() -> None:
    assert set(ClusterValues.__annotations__) == {*clusters.FIELDS, "admin_password"}


def errors(values: dict[str, Any]) -> dict[str, list[str]]:
    with pytest.raises(InvalidCluster) as refused:
        clusters.register(values)
    return refused.value.errors


def test_an_unreachable_cluster_is_saved_with_the_reason(typed: dict[str, Any]) -> None:
    cluster, status = clusters.register(typed)
    cluster.refresh_from_db()
    assert (cluster.admin_password, cluster.memory_mb, cluster.protected) == ("admin-secret", 1024, False)
    assert (status.state, for_admins(status.error)) == (
        ClusterState.UNREACHABLE,
        f"connection refused: nothing listens at 127.0.0.1:{typed['port']}: "
        "start the server, or correct the host or the port",
    )
    assert "admin-secret" not in cluster.sealed_admin_password


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ({"name": ""}, "name", "a name is needed"),
        ({"host": "a,b"}, "host", "'a,b' names several hosts: register each as a cluster of its own"),
        ({"port": 0}, "port", "0 is not a port: enter a number from 1 to 65535"),
        ({"port": 65536}, "port", "65536 is not a port: enter a number from 1 to 65535"),
        ({"admin_user": "a\nb"}, "admin_user", "'a\\nb' contains a line break or a NUL: leave it out"),
        (
            {"sslmode": "allow"},
            "sslmode",
            "'allow' is not an sslmode: choose one of disable, prefer, require, verify-ca, verify-full",
        ),
        (
            {"sslmode": "verify-full"},
            "sslrootcert",
            "sslmode verify-full needs the certificate authority: paste its PEM text, or choose require",
        ),
        (
            {"sslrootcert": "hello"},
            "sslrootcert",
            "this is not a certificate in PEM: paste the text from -----BEGIN CERTIFICATE----- "
            "to -----END CERTIFICATE-----",
        ),
        ({"memory_mb": -1}, "memory_mb", "-1 is out of range: use 0 to 2147483647"),
        ({"admin_password": "a\0b"}, "admin_password", "the password contains a NUL, which PostgreSQL does not accept"),
    ],
)
def test_bad_values_are_refused_beside_their_field(
    typed: dict[str, Any], values: dict[str, Any], field: str, message: str
) -> None:
    assert errors(typed | values) == {field: [message]}
    assert not Cluster.objects.exists()


def test_a_new_cluster_keeps_a_few_connections_for_people_and_runs(typed: dict[str, Any], settings: Settings) -> None:
    settings.CONNECTION_RESERVE = 3
    typed.pop("set_aside_connections", None)
    assert clusters.register(typed)[0].set_aside_connections == 3
    chosen = typed | {"name": "another", "set_aside_connections": 0}
    assert clusters.register(chosen)[0].set_aside_connections == 0


def test_a_name_is_taken_once(typed: dict[str, Any]) -> None:
    a_cluster(name="demo")
    assert errors(typed) == {"name": ["the name 'demo' is taken: choose another name"]}


def test_a_name_that_is_taken_while_the_server_is_asked(typed: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def inspect_slowly(_: Cluster) -> dict[str, Any]:
        a_cluster(name="demo")
        return {"state": ClusterState.ONLINE}

    monkeypatch.setattr(health_check, "inspect", inspect_slowly)
    assert errors(typed) == {"name": ["the name 'demo' is taken: choose another name"]}


def test_a_certificate_authority_is_taken(typed: dict[str, Any]) -> None:
    _, authority = self_signed("localhost")
    cluster, _ = clusters.register(typed | {"sslmode": "verify-ca", "sslrootcert": authority})
    assert cluster.sslrootcert == authority


def test_a_change_keeps_the_stored_password_at_its_address(typed: dict[str, Any]) -> None:
    cluster, _ = clusters.register(typed)
    clusters.change(cluster, {"memory_mb": 2048, "admin_password": ""}, 1)
    assert (cluster.version, cluster.memory_mb, cluster.admin_password) == (2, 2048, "admin-secret")


@pytest.mark.parametrize(
    ("change", "new"),
    [
        ({"host": "127.0.0.2"}, "postgres@127.0.0.2:5999"),
        ({"port": 5998}, "postgres@127.0.0.1:5998"),
        ({"admin_user": "root"}, "root@127.0.0.1:5999"),
    ],
)
def test_a_stored_password_never_goes_to_another_address(change: dict[str, Any], new: str) -> None:
    cluster = a_cluster(port=5999)
    with pytest.raises(InvalidCluster) as refused:
        clusters.change(cluster, change, 1)
    assert refused.value.errors == {
        "admin_password": [f"the stored password belongs to postgres@127.0.0.1:5999: enter the password of {new}"]
    }
    clusters.change(cluster, change | {"admin_password": "new-secret"}, 1)
    assert Cluster.objects.get().admin_password == "new-secret"


def test_a_login_without_a_password_may_move() -> None:
    cluster = a_cluster(admin_password="")
    clusters.change(cluster, {"host": "127.0.0.2"}, None)
    assert (cluster.host, cluster.admin_password) == ("127.0.0.2", "")


def test_a_stale_change_is_refused_and_writes_nothing() -> None:
    cluster = a_cluster()
    clusters.change(Cluster.objects.get(), {"memory_mb": 1}, 1)
    with pytest.raises(Stale):
        clusters.change(cluster, {"memory_mb": 2}, 1)
    assert Cluster.objects.get().memory_mb == 1


def test_a_cluster_that_goes_down_keeps_its_last_figures() -> None:
    cluster = a_cluster()
    checked(cluster, max_connections=250)
    _, status = clusters.change(cluster, {"vcpus": 4}, 1)
    assert (status.state, status.max_connections, len(status.databases)) == (ClusterState.UNREACHABLE, 250, 2)


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"admin_password": "other"}, PoolState.PENDING),
        ({"sslmode": "disable"}, PoolState.PENDING),
        ({"name": "renamed", "vcpus": 4}, PoolState.APPLIED),
    ],
)
def test_pools_are_rendered_again_when_what_they_are_made_of_changes(
    change: dict[str, Any], state: PoolState, asked: Asked
) -> None:
    pool = a_pool(state=PoolState.APPLIED)
    clusters.change(pool.cluster, change, None)
    pool.refresh_from_db()
    assert pool.state == state
    assert asked() == ([str(pool.pooler_id)] if state == PoolState.PENDING else [])


def test_role_passwords_follow_the_cluster() -> None:
    cluster = a_cluster()
    know_password(cluster, "app", "app-secret")
    clusters.change(cluster, {"host": "127.0.0.2", "admin_password": "admin-secret"}, None)
    assert Cluster.objects.get().password_of("app") == "app-secret"


def test_a_cluster_with_pools_stays() -> None:
    cluster = a_cluster(name="demo")
    for number in range(7):
        a_pool(cluster=cluster, name=f"pool{number}")
    with pytest.raises(IllegalTransition) as refused:
        clusters.remove(cluster)
    assert str(refused.value) == (
        "cluster demo still has 7 pools (pool0, pool1, pool2, pool3, pool4 and 2 more): remove them first"
    )
    assert Cluster.objects.exists()


def test_a_cluster_without_pools_goes() -> None:
    cluster = a_cluster()
    checked(cluster)
    clusters.remove(cluster)
    assert not Cluster.objects.exists()
