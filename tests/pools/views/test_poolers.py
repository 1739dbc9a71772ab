"""The pages of poolers."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user
from django.utils import timezone
from kombu.exceptions import OperationalError

from pools import task_queue
from pools.inventory import poolers
from pools.models import Pooler, PoolerState, PoolState, Revision, RevisionState
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler

TYPED = {
    "name": "edge",
    "kind": "pgbouncer",
    "host": "127.0.0.1",
    "port": "1",
    "admin_user": "pooldeck",
    "admin_password": "typed-secret",
    "config_dir": "/nowhere",
    "generator": "",
}


def test_the_list_sums_the_pools_of_each(staff):
    first = a_pooler(name="beta", port=1)
    a_pooler(name="alpha", port=1)
    a_pool(pooler=first, size=3), a_pool(pooler=first, size=4)
    answer = staff.get("/poolers/")
    found = [(row["pooler"].name, row["pool_count"], row["pool_size"]) for row in answer.context["rows"]]
    assert found == [("alpha", 0, None), ("beta", 2, 7)]


@pytest.mark.parametrize(("query", "found"), [("q=ed", ["edge"]), ("state=online", ["up"]), ("q=none", [])])
def test_the_list_is_filtered_by_its_address(staff, query, found):
    a_pooler(name="edge", port=1)
    a_pooler(name="up", port=1, state=PoolerState.ONLINE)
    assert [pooler.name for pooler in staff.get(f"/poolers/?{query}").context["page"]] == found


def test_the_list_costs_the_same_with_one_and_three_rows(staff):
    a_pooler(port=1)
    once = queries_of(staff, "/poolers/")
    a_pooler(port=1), a_pooler(port=1)
    assert queries_of(staff, "/poolers/") == once


def test_the_list_tells_of_each_whose_configuration_is_not_as_it_was_wished(staff):
    changed = a_pooler(name="a", drift=[{"where": "pooldeck.ini", "what": "it was edited by hand"}])
    refused = a_pooler(name="b", settings_state="rolled_back", settings_reason="the reload was refused")
    waiting = a_pooler(name="c", needs_restart=[{"name": "listen_backlog", "live": "128", "wanted": "64"}])
    a_pooler()
    page = page_of(staff.get("/poolers/"))
    assert re.findall(r'href="/poolers/([\w-]+)/(drift|settings)/"', page) == [
        (str(changed.pk), "drift"),
        (str(refused.pk), "settings"),
        (str(waiting.pk), "settings"),
    ]
    assert "the reload was refused" in page
    assert "needs restart" in page


def test_a_pooler_that_is_down_is_saved_and_says_why(staff):
    page = page_of(staff.post("/poolers/new/", TYPED, follow=True))
    assert Pooler.objects.get().admin_password == "typed-secret"
    assert "is saved, but can" in page
    assert "Connection refused" in page


def test_a_refused_value_stands_beside_its_field_and_what_was_typed_stays(staff):
    answer = staff.post("/poolers/new/", TYPED | {"config_dir": "relative"})
    form = answer.context["form"]
    assert form.errors == {"config_dir": ["'relative' is not an absolute path: write it from / on, without .."]}
    assert (form["name"].value(), form["admin_password"].value()) == ("edge", "typed-secret")
    assert not Pooler.objects.exists()


def test_a_stale_edit_is_a_conflict(staff):
    pooler = a_pooler(name="edge", port=1)
    pooler.edit(1, config_dir="/theirs")
    answer = staff.post(f"/poolers/{pooler.pk}/edit/", TYPED | {"version": "1", "config_dir": "/mine"})
    assert answer.status_code == 409
    assert answer.context["stale"] == [
        {"label": "Configuration directory", "yours": "/mine", "theirs": "/theirs"},
    ]
    assert answer.context["form"]["version"].value() == "2"


def test_the_page_of_a_pooler_shows_revisions_with_their_steps(staff):
    pooler = a_pooler(port=1, error="pooler can't be reached: Connection refused")
    revision = Revision.objects.draft(pooler, {"userlist.txt": '"app" "file-secret"'}, get_user(staff))
    revision.note("rendered", "for PgBouncer 1.18.0")
    revision.note("read back", "the pooler reports the settings of the files")
    revision.finish(RevisionState.ROLLED_BACK, "the login through the pool failed")
    page = page_of(staff.get(f"/poolers/{pooler.pk}/"))
    for words in ("rolled back", "the login through the pool failed", "for PgBouncer 1.18.0", "Connection refused"):
        assert words in page
    assert f" by {get_user(staff)}<" in page
    assert page.count("(verified)") == 1
    assert "file-secret" not in page


def test_the_page_of_a_pooler_costs_the_same_with_one_and_three_pools(staff):
    pooler, cluster = a_pooler(port=1), a_cluster()
    a_pool(pooler=pooler, cluster=cluster)
    once = queries_of(staff, f"/poolers/{pooler.pk}/")
    a_pool(pooler=pooler, cluster=cluster), a_pool(pooler=pooler, cluster=cluster)
    assert queries_of(staff, f"/poolers/{pooler.pk}/") == once


def test_a_check_has_the_files_looked_at_where_they_are(staff, monkeypatch):
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(poolers, "check", lambda pooler: "")
    monkeypatch.setattr(task_queue, "send", lambda name, pooler_id: asked.append((name, pooler_id)))
    theirs, ours = a_pooler(generator="rack-2"), a_pooler()
    for pooler in (theirs, ours):
        staff.post(f"/poolers/{pooler.pk}/check/")
    assert asked == [(task_queue.CHECK, str(theirs.pk))]


def test_a_check_says_why_it_failed(staff):
    pooler = a_pooler(port=1)
    page = page_of(staff.post(f"/poolers/{pooler.pk}/check/", follow=True))
    assert "The check failed: pooler" in page


def test_a_pooler_goes_only_when_its_name_is_typed(staff):
    pooler = a_pooler(name="edge", port=1)
    staff.post(f"/poolers/{pooler.pk}/delete/", {"name": "edg"})
    assert Pooler.objects.exists()
    assert staff.post(f"/poolers/{pooler.pk}/delete/", {"name": "edge"}).url == "/poolers/"
    assert not Pooler.objects.exists()


def test_a_pooler_with_pools_stays(staff):
    pool = a_pool(pooler=a_pooler(name="edge", port=1))
    answer = staff.post(f"/poolers/{pool.pooler_id}/delete/", {"name": "edge"})
    assert "still has 1 pool" in answer.context["refused"]


def test_what_was_refused_is_tried_again_when_asked(staff, asked):
    pool = a_pool(pooler=a_pooler(port=1), state=PoolState.ROLLED_BACK, state_reason="the login failed")
    assert "Try again" in page_of(staff.get(f"/poolers/{pool.pooler_id}/"))
    assert staff.post(f"/poolers/{pool.pooler_id}/apply/").url == f"/poolers/{pool.pooler_id}/"
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.PENDING, "")
    assert asked() == [str(pool.pooler_id)]


def test_changes_made_by_hand_are_overwritten_only_on_order(staff, monkeypatch):
    ordered = []
    monkeypatch.setattr(task_queue, "send", lambda *order: ordered.append(order))
    pooler = a_pooler(port=1)
    staff.post(f"/poolers/{pooler.pk}/apply/", {"drift": "overwrite"})
    assert ordered == [(task_queue.OVERWRITE, str(pooler.pk), get_user(staff).pk)]


def test_an_order_that_can_not_be_sent_says_so(staff, monkeypatch):
    def down(name, pooler_id, user_id):
        raise OperationalError("connection refused")

    monkeypatch.setattr(task_queue, "send", down)
    pooler = a_pooler(port=1)
    page = page_of(staff.post(f"/poolers/{pooler.pk}/apply/", {"drift": "overwrite"}, follow=True))
    assert "the overwrite could not be queued" in page


def test_known_weaknesses_of_the_release_are_told_with_what_corrects_them(staff):
    page = page_of(staff.get(f"/poolers/{a_pooler(server_version='PgBouncer 1.18.0').pk}/"))
    assert "CVE-2025-2291" in page
    assert "1.26.1 has all of them" in page
    assert "Debian 12&#x27;s 1.18.0-1+deb12u1" in page
    assert "known vulnerabilit" not in page_of(staff.get(f"/poolers/{a_pooler().pk}/"))


def silent(**fields):
    """Register a pooler that another host applied and last checked for drift an hour ago."""
    pooler = a_pooler(**fields)
    hour_ago = timezone.now() - timedelta(hours=1)
    Revision.objects.draft(pooler, {"pooldeck.ini": "orders = host=db"})
    pooler.revisions.update(state="applied", generator="rack-2", finished_at=hour_ago)
    return pooler


def test_the_page_says_since_when_nobody_looked_at_its_files_and_whose_worker_is_missed(staff):
    pooler = silent(generator="rack-2")
    page = page_of(staff.get(f"/poolers/{pooler.pk}/"))
    assert "Its files were last inspected at" in page
    assert "No worker of generator rack-2 checks its files, though a check is requested twice a minute" in page
    assert "orders = host=db" in page  # as it was applied: the folder of this machine is not read
    Pooler.objects.update(files_checked_at=timezone.now())
    page = page_of(staff.get(f"/poolers/{pooler.pk}/"))
    assert "last inspected at" not in page
    assert "in sync" in page


def test_the_page_says_who_looks_where_nobody_was_named(staff):
    pooler = silent()
    Pooler.objects.update(files_checked_at=timezone.now())
    assert "rack-2 made the last apply and checks for drift" in page_of(staff.get(f"/poolers/{pooler.pk}/"))


def test_the_drift_of_files_elsewhere_is_told_without_a_diff_and_can_only_be_overwritten(staff):
    pooler = silent(drift=[{"where": "pooldeck.ini", "what": "it was edited by hand"}])
    page = page_of(staff.get(f"/poolers/{pooler.pk}/drift/"))
    assert "last inspected at" in page
    assert "<code>pooldeck.ini</code>: it was edited by hand" in page
    assert ('value="overwrite"' in page, 'value="adopt"' in page) == (True, False)
    answer = staff.post(f"/poolers/{pooler.pk}/drift/", {"drift": "adopt"})
    assert answer.status_code == 400
    assert "only generator rack-2 can read its files" in page_of(answer)


def test_a_pooler_that_is_registered_twice_is_told(staff):
    first, second = a_pooler(port=1), a_pooler(port=1)
    page = page_of(staff.get(f"/poolers/{first.pk}/"))
    assert f'<a href="/poolers/{second.pk}/">{second}</a>' in page
    assert "reads one configuration folder" in page


def test_settings_that_are_refused_or_wait_for_a_restart_are_told(staff):
    pooler = a_pooler(settings_state=PoolState.ROLLED_BACK, settings_reason="the pooler said no")
    pooler.needs_restart = [{"name": "listen_backlog", "live": "128", "wanted": "256"}]
    pooler.save(update_fields=["needs_restart"])
    page = page_of(staff.get(f"/poolers/{pooler.pk}/"))
    assert "Its settings are not live: rolled back" in page
    assert "1 setting waits for a restart" in page


def test_the_page_tells_of_children_that_have_not_read_the_passwords(staff):
    pooler = a_pooler(name="edge", port=1)
    assert "new passwords" not in page_of(staff.get(f"/poolers/{pooler.pk}/"))
    pooler.leave_behind(["7 of 2026-11-22 18:55:27"])
    assert "1 of its children has not read the new passwords yet" in page_of(staff.get(f"/poolers/{pooler.pk}/"))
