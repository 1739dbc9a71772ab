"""What a migration does with the records that stand, there and back."""

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from pools.deployment import snapshots
from pools.models import Pool, Revision
from tests.pools import records

TOGETHER = ("pools", "0009_apply_holders")


def migrated(*targets: tuple[str, str]) -> Any:
    """The records as they are at that migration."""
    MigrationExecutor(connection).migrate(list(targets))
    return MigrationExecutor(connection).loader.project_state(list(targets)).apps


@pytest.mark.django_db(transaction=True)
def test_the_content_of_revisions_moves_out_of_their_rows_and_back() -> None:
    pooler = records.a_pooler(settings={"max_client_conn": 5})
    records.a_pool(pooler=pooler, name="or'd\u2028ers")
    held = snapshots.snapshot(pooler)
    made = Revision.objects.draft(pooler, {"a": "b"}, specs=held, given={"auth_hba_file": "local"})
    bare = Revision.objects.draft(pooler, {})
    try:
        rows = migrated(TOGETHER).get_model("pools", "Revision").objects
        assert rows.get(pk=made.pk).wishes == dict(held)
        assert rows.get(pk=bare.pk).wishes == {}
    finally:  # to the newest of every app: what leans on this one went back with it
        migrated(*MigrationExecutor(connection).loader.graph.leaf_nodes())
    moved = Revision.objects.get(pk=made.pk)
    assert (moved.files, moved.given, moved.specs) == ({"a": "b"}, {"auth_hba_file": "local"}, held)
    assert not Revision.objects.get(pk=bare.pk).specs


@pytest.mark.django_db(transaction=True)
def test_pools_of_before_stay_open_to_whom_their_pgbouncer_knows() -> None:
    fixed, inbound = records.a_pool(name="fixed", user="app"), records.a_pool(name="inbound", user="")
    pgpool = records.a_pool(pooler=records.a_pooler(name="pgpool", kind="pgpool", port=2, pcp_port=1), user="app")
    try:
        migrated(("pools", "0021_applied_at"))
    finally:
        migrated(*MigrationExecutor(connection).loader.graph.leaf_nodes())
    kept = dict(Pool.objects.values_list("pk", "allowed_users"))
    assert kept == {fixed.pk: "*", inbound.pk: "", pgpool.pk: ""}


@pytest.mark.django_db(transaction=True)
def test_steps_of_before_get_the_present_word_for_a_preflight() -> None:
    pooler = records.a_pooler()
    tried, other = Revision.objects.draft(pooler, {}), Revision.objects.draft(pooler, {})
    for revision in (tried, other):
        revision.note("rendered", "said rehearsed before")
    tried.note("preflight passed", "1 login")
    written = tried.steps
    try:
        rows = migrated(("pools", "0032_desired_processes")).get_model("pools", "Revision").objects
        before = [step["step"] for step in rows.get(pk=tried.pk).steps]
    finally:
        migrated(*MigrationExecutor(connection).loader.graph.leaf_nodes())
    assert before == ["rendered", "rehearsed"]
    assert Revision.objects.get(pk=tried.pk).steps == written
    assert Revision.objects.get(pk=other.pk).steps == other.steps
