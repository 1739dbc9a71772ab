"""The REST API of poolers, without one; with one: tests/live/test_api.py."""

import uuid

import pytest
from kombu.exceptions import OperationalError

from pools import task_queue
from pools.models import Pool, Pooler, PoolState, Revision, RevisionState
from tests.callers import anonymous, bearer, person, queries_of
from tests.pools.api.conftest import NOBODY_LISTENS, make_pooler
from tests.waiting import meanwhile

pytestmark = pytest.mark.django_db
URL = "/api/v1/poolers/"
VALUES = {
    "name": "front",
    "kind": "pgbouncer",
    "host": "127.0.0.1",
    "port": NOBODY_LISTENS,
    "admin_user": "pooldeck",
    "admin_password": "console",
    "config_dir": "/nowhere/front",
}


def url_of(pooler):
    return f"{URL}{pooler.pk}/"


def test_an_unreachable_pooler_is_saved_and_says_why(admin):
    answer = admin.post(URL, VALUES)
    assert answer.status_code == 201
    read = answer.json()
    assert (read["state"], read["kind"], read["generator"]) == ("unreachable", "pgbouncer", "")
    assert "refused" in read["error"]
    assert "console" not in answer.content.decode().replace("console's", "")
    assert Pooler.objects.get().admin_password == "console"


def test_children_that_have_not_read_the_passwords_are_counted(admin):
    pooler = make_pooler()
    assert admin.get(url_of(pooler)).json()["children_behind"] == 0
    pooler.leave_behind(["7 of 2026-11-22 18:55:27", "8 of 2026-11-22 18:55:27"])
    assert admin.get(url_of(pooler)).json()["children_behind"] == 2


def test_processes_that_are_asked_for_are_pending_until_each_was_read_back(admin, pooler):
    read = admin.patch(url_of(pooler), {"desired_processes": 3}).json()
    assert (read["desired_processes"], read["pending"], read["settings_state"]) == (3, True, "pending")
    rows = [
        {"name": name, "state": "online", "socket": "", "version": ""}
        for name in ("pgbouncer.ini", "pgbouncer-2.ini", "pgbouncer-3.ini")
    ]
    told = {
        "1 of 3 processes answers; to be started: pgbouncer-2.ini, pgbouncer-3.ini": (rows[:1], [1]),
        "2 of 3 processes answer; to be started: pgbouncer-3.ini": (rows[:2], [1]),
        "each of the processes answers, and the next apply reads them back": (rows, [1]),
        "": (rows, [1, 2, 3]),
    }
    for words, (processes, applied) in told.items():
        Pooler.objects.update(settings_state="applied", processes=processes, applied_processes=applied)
        read = admin.get(url_of(pooler)).json()
        assert (read["processes_awaited"], read["pending"]) == (words, bool(words))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "taken"}, "name"),
        ({"kind": "no kind"}, "kind"),
        ({"port": 0}, "port"),
        ({"admin_password": ""}, "admin_password"),
        ({"config_dir": "relative"}, "config_dir"),
        ({"config_dir": "/nowhere/taken"}, "config_dir"),
        ({"desired_processes": 0}, "desired_processes"),
        ({"desired_processes": 33}, "desired_processes"),
        ({"desired_processes": 2, "config_dir": ""}, "desired_processes"),
        ({"desired_processes": 2, "kind": "pgpool"}, "desired_processes"),
        ({"desired_processes": 2, "delivery": "pull"}, "desired_processes"),
    ],
)
def test_bad_values_are_named_by_field_and_nothing_is_saved(admin, change, field):
    make_pooler("taken")
    answer = admin.post(URL, VALUES | change)
    assert answer.status_code == 400
    assert list(answer.json()) == [field]
    assert Pooler.objects.count() == 1


def test_an_edit_keeps_the_password_unless_the_address_moves(admin, pooler):
    renamed = admin.patch(url_of(pooler), {"name": "edge", "version": 1})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "edge")
    assert Pooler.objects.get().admin_password == "console-secret"
    moved = admin.patch(url_of(pooler), {"port": 2})
    assert (moved.status_code, list(moved.json())) == (400, ["admin_password"])
    assert admin.patch(url_of(pooler), {"name": "late", "version": 1}).status_code == 409


def test_a_pooler_with_pools_stays(admin, pool):
    answer = admin.delete(url_of(pool.pooler))
    assert answer.status_code == 409
    assert "still has 1 pool" in answer.json()["detail"]
    assert admin.delete(url_of(make_pooler("idle"))).status_code == 204


def test_the_configuration_is_shown_with_its_secrets_masked(admin, tmp_path):
    folder = tmp_path / "front"
    folder.mkdir(mode=0o700)
    pooler = Pooler.objects.create(name="front", host="127.0.0.1", port=NOBODY_LISTENS, config_dir=str(folder))
    read = admin.get(f"{url_of(pooler)}config/")
    assert read.status_code == 200
    assert read.json() == {"state": "not applied yet", "revision": None, "files": [], "error": ""}


def test_an_unreadable_folder_is_said(admin, pooler):
    read = admin.get(f"{url_of(pooler)}config/").json()
    assert (read["state"], read["files"]) == ("unreadable", [])
    assert "/nowhere/front" in read["error"]


def test_apply_makes_what_was_refused_a_wish_again(admin, pool):
    pool.state = PoolState.ROLLED_BACK
    pool.save(update_fields=["state"])
    answer = admin.post(f"{url_of(pool.pooler)}apply/")
    assert answer.status_code == 202
    pool.refresh_from_db()
    assert pool.state == PoolState.PENDING


def test_an_apply_is_waited_for(admin, pool, monkeypatch):
    Pool.objects.update(state=PoolState.ROLLED_BACK)
    meanwhile(monkeypatch, lambda: Pool.objects.update(state=PoolState.APPLIED))
    assert admin.post(f"{url_of(pool.pooler)}apply/?wait=30").status_code == 202
    assert Pool.objects.get().state == PoolState.APPLIED
    assert list(admin.post(f"{url_of(pool.pooler)}apply/?wait=soon").json()) == ["wait"]


def test_an_order_to_overwrite_is_not_promised_while_the_queue_is_down(admin, pooler, monkeypatch):
    def refuse(name, pooler_id, user_id):
        raise OperationalError("redis is gone")

    monkeypatch.setattr(task_queue, "send", refuse)
    answer = admin.post(f"{url_of(pooler)}apply/", {"drift": "overwrite"})
    assert answer.status_code == 503
    assert "try again" in answer.json()["detail"]
    assert admin.post(f"{url_of(pooler)}apply/", {"drift": "adopt"}).json().keys() == {"drift"}


def test_revisions_tell_their_steps_and_no_file(admin, pooler):
    revision = Revision.objects.draft(pooler, {"pgbouncer.ini": "password=hidden"}, person("ann"))
    revision.note("rendered", "one pool")
    revision.finish(RevisionState.ROLLED_BACK, "the pooler said no")
    answer = admin.get(f"{url_of(pooler)}revisions/")
    (row,) = answer.json()["results"]
    assert (row["number"], row["state"], row["author"]) == (1, "rolled_back", "ann")
    assert row["reason"] == "the pooler said no"
    assert [step["step"] for step in row["steps"]] == ["rendered"]
    assert "hidden" not in answer.content.decode()
    assert "sealed" not in answer.content.decode()


def test_what_a_console_shows_needs_the_console_and_a_known_word(admin, pooler):
    down = admin.get(f"{url_of(pooler)}show/pools/")
    assert down.status_code == 502
    assert "refused" in down.json()["detail"]
    unknown = admin.get(f"{url_of(pooler)}show/fds/")
    assert unknown.status_code == 404
    assert "servers" in unknown.json()["detail"]


def test_wrong_methods_strangers_wrong_scopes_and_missing_ids(admin, pooler):
    assert admin.get(f"{url_of(pooler)}apply/").status_code == 405
    for path in (URL, url_of(pooler), f"{url_of(pooler)}config/", f"{url_of(pooler)}show/pools/"):
        assert anonymous().get(path).status_code == 401
    applier = bearer("read", "run", "apply")
    assert applier.post(f"{url_of(pooler)}apply/").status_code == 202
    assert applier.post(URL, VALUES).status_code == 403
    for method in ("put", "patch", "delete"):
        assert getattr(applier, method)(url_of(pooler)).status_code == 403
    assert bearer("read", "run").post(f"{url_of(pooler)}apply/").status_code == 403
    assert admin.get(f"{URL}{uuid.uuid4()}/config/").status_code == 404


def test_the_numbers_of_queries_do_not_grow_with_the_rows(admin, pooler):
    Revision.objects.draft(pooler, {}, person())
    poolers, revisions = queries_of(admin, URL), queries_of(admin, f"{url_of(pooler)}revisions/")
    for name in ("two", "three"):
        make_pooler(name)
        Revision.objects.draft(pooler, {}, person())
    assert queries_of(admin, URL) == poolers
    assert queries_of(admin, f"{url_of(pooler)}revisions/") == revisions
