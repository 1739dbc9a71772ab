"""The REST API of settings profiles."""

import uuid

import pytest

from benchmarks.library.settings_profiles import gate
from benchmarks.models import SettingsProfile
from benchmarks.runs.setup import settings_profile
from benchmarks.targets.resolve import Target
from tests.callers import anonymous, bearer, queries_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
URL = "/api/v1/settings-profiles/"
BODY = {"name": "tuned", "values": {"work_mem": "16MB", "synchronous_commit": "off"}}


def one(**changes: object) -> SettingsProfile:
    return SettingsProfile.objects.create(**{"name": "tuned", "values": {"work_mem": "16MB"}} | changes)


def test_a_profile_is_made_read_changed_and_deleted():
    caller = bearer("run", "read")
    made = caller.post(URL, BODY, format="json")
    assert (made.status_code, made.json()["values"]) == (201, BODY["values"])
    address = f"{URL}{made.json()['id']}/"
    assert caller.get(address).json() == made.json()
    changed = caller.patch(address, {"values": {"work_mem": "8MB"}}, format="json")
    assert (changed.status_code, changed.json()["values"], changed.json()["name"]) == (
        200,
        {"work_mem": "8MB"},
        "tuned",
    )
    assert caller.delete(address).status_code == 204
    assert caller.get(address).status_code == 404


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"name": ["This field is required."], "values": ["This field is required."]}),
        ({"name": "a/b", "values": {"x": "1"}}, {"name": ["a name has 1 to 100 letters, digits, blanks and . _ + -"]}),
        ({"name": "a", "values": {}}, {"values": ["a profile holds at least one setting"]}),
        (
            {"name": "a", "values": {"x; drop": "1"}},
            {"values": ["'x; drop' is not the name of a setting: enter one such as work_mem"]},
        ),
        (
            {"name": "a", "values": {"restore_command": "sh"}},
            {
                "values": [
                    "restore_command could lock the panel out, or make the server read or run what it should not: "
                    "leave it out"
                ]
            },
        ),
        (
            {"name": "a", "values": {"work_mem": "1\n2"}},
            {"values": ["work_mem: a value is one line of at most 500 characters"]},
        ),
    ],
)
def test_bad_input_is_named(body, errors):
    answer = bearer("run").post(URL, body, format="json")
    assert (answer.status_code, answer.json()) == (400, errors)
    assert not SettingsProfile.objects.exists()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"statement_timeout": "1ms"}, "statement_timeout: more than tuning, which asks for the scope admin"),
        ({"transaction_timeout": "1"}, "transaction_timeout: more than tuning, which asks for the scope admin"),
        ({"deadlock_timeout": "1d"}, "deadlock_timeout: more than tuning, which asks for the scope admin"),
        ({"huge_pages": "on"}, "huge_pages: without the scope admin, use off / try"),
        ({"huge_pages": "1"}, "huge_pages: without the scope admin, use off / try"),
    ],
)
def test_what_takes_a_cluster_out_needs_an_admin(values, reason):
    body = {"name": "attack", "values": values}
    refused = bearer("run", "apply").post(URL, body, format="json")
    assert refused.status_code == 403
    assert refused.json()["values"][0].startswith(reason)
    assert bearer("admin").post(URL, body, format="json").status_code == 201


def test_an_admins_profile_is_not_put_in_force_by_others(monkeypatch):
    one(name="of an admin", values={"session_replication_role": "replica"})
    cluster = a_cluster(protected=False)
    target = Target(cluster, "app")
    with pytest.raises(gate.NotAllowed, match="session_replication_role: more than tuning"):
        settings_profile.guard(target, cluster, "of an admin", "", is_admin=False)


def test_who_may_do_what():
    address = f"{URL}{one().pk}/"
    assert anonymous().get(URL).status_code == 401
    assert bearer("read").post(URL, BODY, format="json").status_code == 403
    assert bearer("read").delete(address).status_code == 403
    assert bearer("run").put(URL, BODY, format="json").status_code == 405


def test_a_check_needs_a_cluster_that_is_there():
    address = f"{URL}{one().pk}/check/"
    assert bearer("read").get(address).status_code == 400
    assert bearer("read").get(address, {"cluster": str(uuid.uuid4())}).status_code == 404
    assert bearer("read").get(address, {"cluster": str(a_cluster().pk)}).status_code == 502


def test_the_list_takes_the_same_queries_for_one_and_three():
    caller = bearer("read")
    one()
    first = queries_of(caller, URL)
    one(name="b")
    one(name="c")
    assert queries_of(caller, URL) == first


@pytest.mark.parametrize(
    "name", ["session_replication_role", "synchronous_standby_names", "default_transaction_read_only", "fsync"]
)
def test_what_the_whole_cluster_feels_asks_for_the_scope_admin(name):
    body = {"name": "bold", "values": {name: "off", "work_mem": "8MB"}}
    refused = bearer("read", "run").post(URL, body)
    assert refused.status_code == 403
    assert refused.json() == {"values": [f"{name}: more than tuning, which asks for the scope admin; leave it out"]}
    made = bearer().post(URL, body)
    assert made.status_code == 201
    address, runner = f"{URL}{made.json()['id']}/", bearer("read", "run")
    assert runner.patch(address, {"values": body["values"] | {"work_mem": "16MB"}}).status_code == 200
    assert runner.patch(address, {"values": {name: "on"}}).status_code == 403


@pytest.mark.parametrize("name", ["jit_provider", "zero_damaged_pages", "ignore_checksum_failure"])
def test_what_runs_code_or_spoils_data_is_nobodys(name):
    answer = bearer().post(URL, {"name": "wild", "values": {name: "on"}})
    assert (answer.status_code, "leave it out" in answer.json()["values"][0]) == (400, True)


def test_tuning_is_every_runners():
    values = {"shared_buffers": "1GB", "autovacuum_vacuum_cost_limit": "2000", "max_parallel_workers": "4"}
    assert bearer("read", "run").post(URL, {"name": "tuned", "values": values}).status_code == 201
