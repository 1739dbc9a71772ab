"""Requests and their commands: each ends in a cluster or in a reason, once."""

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError
from django.utils import timezone

from pools.models import Cluster, ClusterCreation, ClusterState, CreationState, ShelfEntry
from pools.provisioning import cluster_commands, shelf_return
from tests.pools.create_files import MADE, REGION, SIZE, CreateFile, a_creation, create_file
from tests.pools.records import a_cluster, a_pool, a_pooler

__all__ = ["create_file"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def answering(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What checks find on the server that a command made."""
    found = {"state": ClusterState.ONLINE, "error": "", "server_version_num": 150014}
    found |= {"databases": [{"name": "postgres"}], "roles": [{"name": "postgres"}]}
    monkeypatch.setattr("pools.clusters.health_check.inspect", lambda cluster: dict(found))
    for name, seconds in (("PAUSE_S", 0.02), ("LOGIN_EVERY_S", 0.02), ("LOGIN_WITHIN_S", 0.2)):
        monkeypatch.setattr(cluster_commands, name, seconds)
    return found


def outcome(creation: ClusterCreation) -> tuple[str, str]:
    creation.refresh_from_db()
    return creation.state, creation.reason


def test_a_command_makes_the_cluster_of_the_reserved_id(create_file: CreateFile) -> None:
    pooler, ann = a_pooler(name="front"), User.objects.create_user("ann")
    create_file.offer(pooler="front", drop_on_return=True, versions=["15"])
    creation = a_creation(author=ann, tags=["prod"], version="15")
    cluster_commands.run_due()
    assert outcome(creation) == (CreationState.CREATED, "")
    cluster = Cluster.objects.get()
    assert (cluster.pk, cluster.name, cluster.host, cluster.port) == (creation.pk, "orders", "127.0.0.1", 1)
    assert (cluster.admin_user, cluster.admin_password, cluster.sslmode) == ("postgres", "made-secret", "disable")
    entry = ShelfEntry.objects.get()
    assert (entry.cluster, entry.size, entry.region, entry.pooler, entry.drop_on_return) == (
        cluster, SIZE, REGION, pooler, True
    )  # fmt: skip
    assert (entry.claimed_at, entry.claimed_by, entry.tags) == (creation.created_at, ann, ["prod"])
    assert entry.kept == {"databases": ["postgres"], "roles": ["postgres"]}


def test_the_command_is_given_the_whole_request(create_file: CreateFile, tmp_path: Any) -> None:
    create_file.offer(f"json.dump(asked, open({str(tmp_path / 'asked')!r}, 'w')); print(json.dumps({MADE!r}))")
    creation = a_creation(version="16", nodes=2, tags=["a", "b"])
    cluster_commands.run_due()
    assert json.loads((tmp_path / "asked").read_text()) == {
        "id": str(creation.pk),
        "name": "orders",
        "size": SIZE,
        "region": REGION,
        "version": "16",
        "num_nodes": 2,
        "tags": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("sys.exit('no server is left')", "the command ended with code 1: no server is left"),
        ("print('made-secret')", "the command printed no JSON object on its standard output"),
        (f"print(json.dumps({MADE | {'port': 0}!r}))", "port: 0 is not a port: enter a number from 1 to 65535"),
        (f"print(json.dumps({MADE | {'host': '169.254.169.254'}!r}))", "host: "),
        (f"print(json.dumps({MADE | {'sslmode': 'allow'}!r}))", "sslmode: 'allow' is not an sslmode"),
    ],
)
def test_a_command_that_fails_leaves_a_reason_and_no_cluster(
    create_file: CreateFile, caplog: pytest.LogCaptureFixture, program: str, reason: str
) -> None:
    create_file.offer(program)
    creation = a_creation()
    cluster_commands.run_due()
    state, text = outcome(creation)
    assert (state, text.startswith(reason), Cluster.objects.count()) == (CreationState.FAILED, True, 0)
    assert text in caplog.text
    assert "secret" not in caplog.text + text
    assert (creation.token, creation.leased_until) == (None, None)


def test_a_command_that_hangs_is_failed_at_its_limit(create_file: CreateFile) -> None:
    create_file.offer("time.sleep(60)", timeout_s=1)
    creation = a_creation()
    cluster_commands.run_due()
    assert outcome(creation) == (CreationState.FAILED, "the command did not end within 1 s")


def test_a_server_that_takes_no_login_yet_is_tried_again(create_file: CreateFile, answering: dict[str, Any]) -> None:
    create_file.offer()
    creation, answers = a_creation(), iter([ClusterState.UNREACHABLE, ClusterState.ONLINE])
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(
        "pools.clusters.health_check.inspect", lambda cluster: answering | {"state": next(answers), "error": "starting"}
    )
    try:
        cluster_commands.run_due()
    finally:
        monkeypatch.undo()
    assert outcome(creation)[0] == CreationState.CREATED


def test_a_server_that_takes_no_login_at_all_fails(create_file: CreateFile, answering: dict[str, Any]) -> None:
    create_file.offer()
    creation = a_creation()
    answering |= {"state": ClusterState.UNREACHABLE, "error": "wrong password"}
    cluster_commands.run_due()
    reason = "the command made 127.0.0.1:1, but the panel can't log in there: wrong password"
    assert (outcome(creation), Cluster.objects.count()) == ((CreationState.FAILED, reason), 0)


def test_commands_run_at_the_same_time(create_file: CreateFile, tmp_path: Any) -> None:
    wait = f"""
open({str(tmp_path)!r} + "/" + asked["name"], "w").close()
while len([one for one in os.listdir({str(tmp_path)!r}) if one in ("a", "b")]) < 2: time.sleep(0.02)
print(json.dumps({MADE!r}))"""
    create_file.offer(wait, timeout_s=60)
    creations = [a_creation(name=name) for name in ("a", "b")]
    cluster_commands.run_due()
    assert [outcome(one)[0] for one in creations] == [CreationState.CREATED] * 2


def test_a_request_that_a_worker_has_is_left_alone(create_file: CreateFile) -> None:
    create_file.offer()
    soon = timezone.now() + timedelta(seconds=30)
    taken, queued = a_creation(name="taken", token=uuid.uuid4(), leased_until=soon), a_creation()
    cluster_commands.run_due()
    assert [outcome(one)[0] for one in (taken, queued)] == [CreationState.CREATING] * 2
    assert [one.lease(uuid.uuid4(), soon) for one in (taken, queued, queued)] == [False, True, False]


def test_a_request_whose_worker_died_fails_and_is_not_run_again(create_file: CreateFile) -> None:
    create_file.offer()
    ago = timezone.now() - timedelta(seconds=1)
    creation = a_creation(token=uuid.uuid4(), leased_until=ago)
    cluster_commands.run_due()
    assert outcome(creation)[0] == CreationState.FAILED
    assert "the worker ended while the command ran" in creation.reason
    assert not Cluster.objects.exists()


def test_the_result_of_a_lost_lease_is_dropped(create_file: CreateFile, caplog: pytest.LogCaptureFixture) -> None:
    create_file.offer()
    creation = a_creation()
    assert creation.lease(uuid.uuid4(), timezone.now())
    command = cluster_commands.Command(creation, cluster_commands.creations.entry_of(creation))
    ClusterCreation.objects.get().fail("the worker ended")
    while command.goes_on():
        pass
    assert (outcome(creation), Cluster.objects.count()) == ((CreationState.FAILED, "the worker ended"), 0)
    assert "remove its server" in caplog.text


def test_a_worker_without_the_file_leaves_requests_to_others_for_ten_minutes(settings: Any) -> None:
    settings.CREATE_FILE = ""
    fresh, old = a_creation(name="fresh"), a_creation(requested_at=timezone.now() - timedelta(minutes=11))
    cluster_commands.run_due()
    assert outcome(fresh)[0] == CreationState.CREATING
    assert outcome(old) == (CreationState.FAILED, "no worker with POOLDECK_CREATE_FILE took it within 600 s")


def test_a_request_that_its_client_does_not_wait_for_any_more_is_not_carried_out(create_file: CreateFile) -> None:
    create_file.offer()
    late, old = (
        a_creation(name=f"{minutes}", requested_at=timezone.now() - timedelta(minutes=minutes)) for minutes in (20, 31)
    )
    cluster_commands.run_due()
    assert [outcome(one)[0] for one in (late, old)] == [CreationState.CREATED, CreationState.FAILED]


def test_a_fault_while_the_cluster_is_saved_leaves_nothing_of_it(
    create_file: CreateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_words: Any) -> None:
        raise IntegrityError("name")

    monkeypatch.setattr("pools.inventory.shelf.put_claimed", broken)
    create_file.offer()
    creation = a_creation()
    cluster_commands.run_due()
    assert outcome(creation) == (CreationState.FAILED, "internal error: see the worker's log")
    assert not Cluster.objects.exists()


def test_a_table_that_was_removed_meanwhile_fails_the_request(create_file: CreateFile) -> None:
    create_file.offer(size="other")
    creation = a_creation()
    cluster_commands.run_due()
    assert outcome(creation) == (CreationState.FAILED, "POOLDECK_CREATE_FILE has no command for it any more")


def test_a_name_that_was_taken_meanwhile_gets_an_end(create_file: CreateFile) -> None:
    create_file.offer()
    creation = a_creation()
    a_cluster(name="orders")
    cluster_commands.run_due()
    assert Cluster.objects.get(pk=creation.pk).name == f"orders-{creation.key[:8]}"


@pytest.fixture
def made(create_file: CreateFile, tmp_path: Any) -> Cluster:
    """A cluster that a command has made, and another command deletes."""
    create_file.offer(delete=f"json.dump(asked, open({str(tmp_path / 'deleted')!r}, 'w'))")
    a_creation()
    cluster_commands.run_due()
    return Cluster.objects.get()


def test_a_return_runs_the_command_that_deletes(made: Cluster, tmp_path: Any) -> None:
    shelf_return.give_back(made)
    assert ClusterCreation.objects.get().state == CreationState.DELETING
    cluster_commands.run_due()
    assert [model.objects.count() for model in (Cluster, ShelfEntry, ClusterCreation)] == [0, 0, 0]
    asked = json.loads((tmp_path / "deleted").read_text())
    assert {name: asked[name] for name in ("id", "name", "host", "port")} == {
        "id": str(made.pk), "name": "orders", "host": "127.0.0.1", "port": 1
    }  # fmt: skip
    assert "admin_password" not in asked


def test_a_record_that_was_removed_during_the_deletion_is_no_error(made: Cluster) -> None:
    shelf_return.give_back(made)
    creation = ClusterCreation.objects.get()
    assert creation.lease(uuid.uuid4(), timezone.now())
    command = cluster_commands.Command(creation, cluster_commands.creations.entry_of(creation))
    made.delete()
    while command.goes_on():
        pass
    assert not ClusterCreation.objects.exists()


def test_a_fault_of_the_panel_fails_one_request_and_not_the_others(
    create_file: CreateFile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    complete = cluster_commands.creations.complete

    def broken(creation: ClusterCreation, *words: Any) -> Any:
        return complete(creation, *words) if creation.name == "shop" else 1 / 0

    monkeypatch.setattr("pools.inventory.creations.complete", broken)
    create_file.offer()
    creations = [a_creation(name=name) for name in ("orders", "shop")]
    cluster_commands.run_due()
    assert [outcome(one) for one in creations] == [
        (CreationState.FAILED, "internal error: see the worker's log"),
        (CreationState.CREATED, ""),
    ]
    assert "division by zero" in caplog.text


def test_a_deletion_that_fails_keeps_the_cluster_with_the_reason_and_can_be_repeated(
    made: Cluster, create_file: CreateFile
) -> None:
    create_file.lines.clear()
    create_file.offer(delete="sys.exit('it is locked')")
    shelf_return.give_back(made)
    cluster_commands.run_due()
    creation = ClusterCreation.objects.get()
    assert outcome(creation) == (CreationState.NOT_DELETED, "the command ended with code 1: it is locked")
    create_file.lines.clear()
    create_file.offer(delete="pass")
    shelf_return.give_back(made)
    cluster_commands.run_due()
    assert not Cluster.objects.exists()


def test_a_pool_that_came_during_the_deletion_keeps_the_record(made: Cluster) -> None:
    shelf_return.give_back(made)
    a_pool(cluster=made)
    cluster_commands.run_due()
    state, reason = outcome(ClusterCreation.objects.get())
    assert (state, "still has 1 pool" in reason) == (CreationState.NOT_DELETED, True)


def test_without_a_command_that_deletes_the_cluster_becomes_free(create_file: CreateFile) -> None:
    create_file.offer()
    creation = a_creation()
    cluster_commands.run_due()
    shelf_return.give_back(Cluster.objects.get())
    entry = ShelfEntry.objects.get()
    assert (entry.claimed_at, entry.cluster.name) == (None, f"{SIZE}-{creation.key[:8]}")


def test_a_request_that_was_withdrawn_while_its_command_ran_is_returned_at_its_end(
    create_file: CreateFile,
) -> None:
    create_file.offer(delete="pass")
    a_creation(removal_requested_at=timezone.now())
    cluster_commands.run_due()
    assert [model.objects.count() for model in (Cluster, ShelfEntry, ClusterCreation)] == [0, 0, 0]
