"""Checks of clusters where nothing answers (tests/live has those that do)."""

import pytest

from core.lib.private_text import for_admins
from pools.clusters import health_check
from pools.models import ClusterState, ClusterStatus
from tests.pools.records import a_cluster, checked

pytestmark = pytest.mark.django_db


def test_an_unreachable_cluster_keeps_the_figures_of_its_last_good_check() -> None:
    cluster = a_cluster()
    before = checked(cluster)
    status = health_check.check_cluster(cluster)
    assert (status.state, status.max_connections, status.roles) == (ClusterState.UNREACHABLE, 100, before.roles)
    assert for_admins(status.error).startswith("connection refused: nothing listens at 127.0.0.1:1")
    assert status.checked_at > before.checked_at


def test_no_cluster_is_checked_where_none_is_given() -> None:
    a_cluster()
    health_check.check_all([])
    assert not ClusterStatus.objects.exists()


def test_every_cluster_is_checked() -> None:
    for _ in range(3):
        a_cluster()
    health_check.check_all()
    assert ClusterStatus.objects.filter(state=ClusterState.UNREACHABLE).count() == 3


def test_a_password_that_no_key_opens_is_a_finding_not_a_crash() -> None:
    cluster = a_cluster()
    cluster.sealed_admin_password = "rubbish"
    assert health_check.check_cluster(cluster).error == (
        "the stored password of 'postgres' can't be decrypted with the present keys: enter it again"
    )
