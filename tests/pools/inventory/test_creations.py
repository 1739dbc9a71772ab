"""Requests for clusters of the operator's commands, before a command runs."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.installation.models import Installation
from pools.errors import IllegalTransition
from pools.inventory import clusters, creations, shelf
from pools.inventory.shelf import ClusterRequest, NameTaken, NoneFits
from pools.models import ClusterCreation, CreationState
from tests.pools.create_files import REGION, SIZE, CreateFile, a_creation, create_file
from tests.pools.records import a_cluster

__all__ = ["create_file"]
pytestmark = pytest.mark.django_db


def test_a_request_is_stored_and_queued(
    create_file: CreateFile, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr("pools.task_queue.send", lambda *words: sent.append(words))
    create_file.offer(versions=["15", "16"])
    with django_capture_on_commit_callbacks(execute=True):
        creation = creations.request(ClusterRequest("orders", size=SIZE.upper(), tags=["prod"], nodes=2))
    assert creation is not None
    assert (creation.name, creation.size, creation.region, creation.version, creation.nodes, creation.tags) == (
        "orders", SIZE, REGION, "16", 2, ["prod"]
    )  # fmt: skip
    assert sent == [("pools.tasks.run_cluster_commands",)]  # The message carries neither an id nor a secret.


@pytest.mark.parametrize(
    "asked", [{"size": "other"}, {"region": "other"}, {"version": "99"}, {"version": "fifteen"}, {"nodes": 0}]
)
def test_what_no_table_offers_is_not_requested(create_file: CreateFile, asked: dict[str, Any]) -> None:
    create_file.offer(versions=["15"])
    with pytest.raises(NoneFits, match=f"the commands are for {SIZE}/{REGION}/15"):
        creations.request(ClusterRequest("orders", **asked))
    assert not ClusterCreation.objects.exists()


def test_without_a_file_nothing_is_requested(settings: Any) -> None:
    settings.CREATE_FILE = ""
    assert creations.request(ClusterRequest("orders")) is None


def test_a_name_is_requested_once(create_file: CreateFile) -> None:
    create_file.offer()
    a_creation(name="orders")
    with pytest.raises(NameTaken, match="the name 'orders' is taken"):
        creations.request(ClusterRequest("orders"))


def test_the_name_of_a_request_is_taken_for_the_shelf_and_for_registrations(create_file: CreateFile) -> None:
    a_creation(name="orders")
    with pytest.raises(NameTaken, match="the name 'orders' is taken"):
        shelf.claim(ClusterRequest("orders"))
    with pytest.raises(clusters.InvalidCluster, match="the name 'orders' is taken"):
        clusters.register({"name": "orders", "host": "127.0.0.1", "port": 1, "admin_user": "postgres"})


def test_an_impossible_name_is_refused(create_file: CreateFile) -> None:
    create_file.offer()
    with pytest.raises(clusters.InvalidCluster, match="64 bytes"):
        creations.request(ClusterRequest("x" * 64))


def test_a_paused_panel_takes_no_request(create_file: CreateFile) -> None:
    create_file.offer()
    copy = {"home": "/", "home_inode": 1, "last_start": "0" * 32, "paused_because": "moved"}
    Installation.objects.create(**copy, paused_at=timezone.now())
    with pytest.raises(IllegalTransition, match="paused"):
        creations.request(ClusterRequest("orders"))


def test_a_request_that_no_worker_has_is_withdrawn_at_once() -> None:
    creation = a_creation()
    assert creations.withdraw(creation)
    assert not ClusterCreation.objects.exists()


def test_a_request_whose_command_runs_is_withdrawn_at_its_end() -> None:
    creation = a_creation()
    assert creation.lease(uuid.uuid4(), timezone.now() + timedelta(seconds=30))
    assert creations.withdraw(creation)
    creation.refresh_from_db()
    assert (creation.state, creation.removal_requested_at is not None) == (CreationState.CREATING, True)


def test_what_is_created_by_now_is_not_withdrawn() -> None:
    creation = a_creation(state=CreationState.CREATED)
    assert not creations.withdraw(creation)
    assert ClusterCreation.objects.get().removal_requested_at is None


def test_only_failed_creations_are_dismissed() -> None:
    failed, going_on = a_creation(name="failed", state=CreationState.FAILED), a_creation()
    assert [creations.dismiss(one) for one in (failed, going_on)] == [True, False]
    assert ClusterCreation.objects.get() == going_on


def test_a_registered_cluster_has_no_command_that_deletes_it(create_file: CreateFile) -> None:
    assert creations.deletes(a_cluster()) is False
