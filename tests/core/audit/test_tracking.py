"""What is written to tracked models is recorded, however it is written; a model that is not tracked says why."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from core.accounts.audit.shown import ShownField, fields_of
from core.accounts.models import ApiToken, Membership, Role, Team
from core.audit import chain
from core.audit.models import Entry
from core.audit.tracking import TRACKED
from pools.models import Cluster, Pool, PoolState, RolePassword
from tests.pools.records import a_cluster, a_node, a_pool, know_password

pytestmark = pytest.mark.django_db(transaction=True)

# Models whose rows are no acts: the panel writes them by itself, or another row says the same.
NOT_ACTS = {
    "accounts.AdminByGroups": "marks a person as made an administrator by groups; the person is recorded",
    "accounts.BrowserSession": "the browser of a session; the sign-in is recorded",
    "audit.Entry": "the trail itself",
    "audit.StreamPosition": "how far the trail was sent, which workers note",
    "installation.CarriedOut": "ids of signed messages, which workers note",
    "installation.KnownKey": "fingerprints of keys, which each start notes",
    "pools.ApprovalNotice": "notices of requests, which a worker sends",
    "pools.ClusterStatus": "findings of checks",
    "pools.Entry": "findings of checks",
    "pools.EntryMinute": "figures",
    "pools.FileFetch": "the time of the last fetch",
    "pools.Notice": "notices of events, which a worker sends",
    "pools.PoolMinute": "figures",
    "pools.PoolerMinute": "figures",
    "pools.Restart": "findings of checks and polls",
    "pools.RevisionContent": "files of a revision, sealed; the revision is recorded",
    "benchmarks.ExperimentResource": "made for an experiment; the pools and roles themselves are recorded",
    "benchmarks.LatencyHistogram": "figures",
    "benchmarks.Observation": "figures",
    "benchmarks.PoolSample": "figures",
    "benchmarks.RunOutput": "output of programs",
    "benchmarks.Sample": "figures",
    "benchmarks.ScheduleNotice": "notices of schedules, which a worker sends",
    "benchmarks.ScheduledStart": "due times; the schedule and what it starts are recorded",
    "benchmarks.Tag": "words at runs; the request that sets them is recorded",
}
OWN_APPS = {"accounts", "audit", "installation", "pools", "benchmarks", "panel"}


def acts() -> list[tuple[str, str, dict[str, Any]]]:
    return [(one.action, one.object_name, dict(one.fields)) for one in Entry.objects.order_by("number")]


def test_every_model_is_tracked_or_says_why_not() -> None:
    models = [model for model in apps.get_models() if model._meta.app_label in OWN_APPS]
    missing = {model._meta.label for model in models if model not in TRACKED} - NOT_ACTS.keys()
    assert not missing, f"track these in their app's audited.py, or say here why they are no acts: {missing}"
    assert not {label for label in NOT_ACTS if apps.get_model(label) in TRACKED}


@pytest.mark.parametrize("model", TRACKED, ids=lambda model: model._meta.label)
def test_secrets_are_declared(model: type[Model]) -> None:
    tracked = TRACKED[model]
    sealed = {one.attname for one in model._meta.concrete_fields if one.name.startswith("sealed_")}
    assert sealed & set(tracked.fields) <= tracked.secrets


def test_each_way_to_write_is_recorded() -> None:
    pool = a_pool(name="shop", size=5)
    Entry.objects.all().delete()
    pool.size = 6
    pool.save()
    Pool.objects.filter(name="shop").update(size=7)
    pool.edit(None, size=8)
    pool.size = 9
    Pool.objects.bulk_update([pool], ["size"])
    pool.delete()
    *changes, deleted = acts()
    assert changes == [
        ("pool.change", "shop", {"before": {"size": size}, "after": {"size": size + 1}}) for size in (5, 6, 7, 8)
    ]
    assert deleted[:2] == ("pool.delete", "shop")
    assert deleted[2]["before"]["size"] == 9
    assert {one.cluster_id for one in Entry.objects.all()} == {pool.cluster_id}


def test_what_is_deleted_along_is_recorded() -> None:
    cluster = a_cluster()
    a_node(cluster, host="replica")
    know_password(cluster, "app", "hidden")
    Entry.objects.all().delete()
    cluster.delete()
    assert sorted(action for action, _name, _change in acts()) == [
        "cluster.delete",
        "cluster.forget_password",
        "cluster.remove_node",
    ]


def test_rows_made_in_bulk_are_recorded_with_their_ids() -> None:
    users = User.objects.bulk_create([User(username="ana"), User(username="bo")])
    entries = Entry.objects.order_by("number").values_list("action", "object_id", "object_name")
    assert list(entries) == [("person.create", str(user.pk), user.username) for user in users]


def test_findings_of_checks_are_no_acts() -> None:
    pool = a_pool()
    Entry.objects.all().delete()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        Pool.objects.filter(pk=pool.pk).update(state=PoolState.FAILED, state_reason="no route")
    assert len(queries) == 1
    assert acts() == []


def test_a_write_that_changes_nothing_is_no_act() -> None:
    pool = a_pool(size=5)
    Entry.objects.all().delete()
    Pool.objects.filter(pk=pool.pk).update(size=5)
    assert acts() == []


def test_secrets_are_shown_as_changed() -> None:
    cluster = a_cluster(admin_password="first-secret")
    cluster.admin_password = "second-secret"
    cluster.save()
    known = RolePassword(cluster=cluster, role="app")
    known.password = "third-secret"
    known.save()
    created, changed, kept = (one.fields for one in Entry.objects.order_by("number"))
    assert created["after"]["admin_password"] == "changed"
    assert changed == {"before": {"admin_password": "changed"}, "after": {"admin_password": "changed"}}
    assert kept == {"after": {"role": "app", "password": "changed"}}
    texts = " ".join(Entry.objects.values_list("change", flat=True))
    assert "-secret" not in texts
    assert cluster.sealed_admin_password not in texts


def test_a_change_of_a_part_says_of_which() -> None:
    """A team has many members, and a cluster many passwords: what stayed names the one that changed."""
    user, cluster = User.objects.create(username="ana"), a_cluster()
    member, _ = Membership.objects.update_or_create(team=Team.objects.get(), user=user, defaults={"role": Role.VIEWER})
    cluster.keep_password("app", "first-secret")
    Entry.objects.all().delete()
    member.role = Role.OWNER
    member.save()
    cluster.keep_password("app", "second-secret")
    role, password = Entry.objects.order_by("number")
    ids = {"user_id": user.pk}
    assert role.fields == {"before": {**ids, "role": "viewer"}, "after": {**ids, "role": "owner"}}
    assert password.fields["after"] == {"role": "app", "password": "changed"}
    assert fields_of(role) == [
        ShownField("user_id", "", str(user.pk), is_kept=True),
        ShownField("role", "viewer", "owner"),
    ]


def test_a_revoked_token_is_named_so() -> None:
    user = User.objects.create(username="ana")
    text = ApiToken.objects.issue(user, "nightly", ["read"])
    token = ApiToken.objects.get()
    token.mark_used()
    token.revoke()
    found = [action for action, _name, _change in acts()]
    assert found == ["person.create", "team.add_member", "token.create", "token.revoke"]
    assert not [one for one in Entry.objects.all() if text in one.change or token.digest in one.change]


def test_rows_of_a_rolled_back_savepoint_are_forgotten() -> None:
    cluster = a_cluster()
    Entry.objects.all().delete()
    with transaction.atomic():
        Cluster.objects.filter(pk=cluster.pk).update(port=5433)
        with transaction.atomic():
            Cluster.objects.filter(pk=cluster.pk).update(port=5434)
            transaction.set_rollback(True)
    assert [change for _action, _name, change in acts()] == [{"before": {"port": 1}, "after": {"port": 5433}}]


def test_the_chain_holds_over_tracked_writes() -> None:
    pool = a_pool()
    for size in range(10, 20):
        Pool.objects.filter(pk=pool.pk).update(size=size)
    assert chain.verify().number == Entry.objects.count()
