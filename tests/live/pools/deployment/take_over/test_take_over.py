"""What a take-over keeps, what an apply after it changes, and what letting go gives back."""

import io
import re
import tarfile
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from panel.quickstart.servers import PostgresServer
from pools import deployment
from pools.deployment import take_overs
from pools.deployment.pgbouncer import take_over_plan
from pools.deployment.pgbouncer.steps import STEPS
from pools.deployment.take_over_run import TakeOverRun
from pools.errors import IllegalTransition
from pools.inventory import poolers, pools
from pools.models import (
    Cluster,
    Entry,
    EntryMinute,
    Pool,
    Pooler,
    PoolMinute,
    PoolState,
    RevisionState,
    RolePassword,
    TakeOver,
    TakeOverState,
)
from pools.poolers.pgbouncer import console
from pools.poolers.pgbouncer import take_over as evidence
from tests.callers import bearer, person
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer, Start, log_in
from tests.live.pools.deployment.take_over.layouts import FORCED, LAYOUTS, PLAIN, POOL, SCRAM, USERS, Layout, main

pytestmark = pytest.mark.django_db(transaction=True)
Watch = Callable[[OperatorsPgBouncer], Pooler]
TWO = Layout(
    "two",
    {"pgbouncer.ini": main(f"app = {FORCED}\nreports = {PLAIN}", SCRAM), "userlist.txt": USERS},
    {"app": POOL, "reports": POOL},
)


def taken_over(pooler: Pooler) -> TakeOver:
    """Take it over."""
    asked = STEPS.request(pooler)
    STEPS.resume(pooler)
    asked.refresh_from_db()
    pooler.refresh_from_db()
    return asked


def released(pooler: Pooler) -> TakeOver:
    """Let it go."""
    asked = take_overs.request_release(pooler)
    take_overs.resume(pooler)
    asked.refresh_from_db()
    pooler.refresh_from_db()
    return asked


def row_of(pgbouncer: OperatorsPgBouncer, name: str) -> dict[str, object]:
    """Return an entry's row of SHOW DATABASES."""
    with pgbouncer.connect() as session:
        cursor = session.execute(b"SHOW DATABASES")
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    return next(row for row in rows if row["name"] == name)


def test_a_changed_size_changes_nothing_else_of_the_line_nor_the_users(
    cluster: Cluster, start: Start, watch: Watch
) -> None:
    pgbouncer = start(TWO)
    pooler, before = watch(pgbouncer), pgbouncer.bytes_of_all()
    taken_over(pooler)
    was, shown = row_of(pgbouncer, "reports"), pgbouncer.shown()
    pools.change(pooler.pools.get(name="reports"), {"size": 9}, None)
    deployment.apply_pooler(pooler)
    pool = pooler.pools.get(name="reports")
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert row_of(pgbouncer, "reports") == was | {"pool_size": 9}
    assert pgbouncer.shown()["USERS"] == shown["USERS"]
    assert log_in(pgbouncer, "reports") == "app"
    assert pgbouncer.bytes_of_all()["userlist.txt"] == before["userlist.txt"]
    assert released(pooler).state == TakeOverState.RELEASED
    assert pgbouncer.bytes_of_all() == before


def test_a_pool_made_since_works_and_has_to_go_before_the_pooler_does(
    cluster: Cluster, start: Start, watch: Watch, server: object
) -> None:
    pgbouncer = start(TWO)
    pooler, before = watch(pgbouncer), pgbouncer.bytes_of_all()
    taken_over(pooler)
    made = {"name": "made", "pooler": pooler, "cluster": cluster, "database": "app", "user": "postgres", "size": 2}
    password = RolePassword(cluster=cluster, role="postgres")
    password.password = "super-secret"
    password.save()
    pool = pools.create(made)
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert log_in(pgbouncer, "made", "postgres", "super-secret") == "postgres"
    assert pgbouncer.bytes_of_all()["userlist.txt"] != before["userlist.txt"]
    with pytest.raises(IllegalTransition, match="remove made first"):
        take_overs.request_release(pooler)
    pools.remove(pool)
    deployment.apply_pooler(pooler)
    released(pooler)
    assert pgbouncer.bytes_of_all() == before


def test_a_pool_made_after_the_request_to_let_go_keeps_the_pooler_managed(
    cluster: Cluster, start: Start, watch: Watch
) -> None:
    pgbouncer = start(TWO)
    pooler = watch(pgbouncer)
    taken_over(pooler)
    managed, taken = pgbouncer.bytes_of_all(), take_overs.request_release(pooler)
    pools.create(
        {
            "name": "late",
            "pooler": pooler,
            "cluster": cluster,
            "database": "app",
            "user": "app",
            "size": 2,
            "mode": "session",
        }
    )
    take_overs.resume(pooler)
    taken.refresh_from_db()
    assert (taken.state, "remove late first" in taken.reason) == (TakeOverState.TAKEN, True)
    assert pgbouncer.bytes_of_all() == managed
    assert pooler.pools.filter(name="late").exists()


def test_letting_go_keeps_exactly_what_others_edited_since(cluster: Cluster, start: Start, watch: Watch) -> None:
    layout = next(one for one in LAYOUTS if one.name == "entry-in-an-included-file")
    pgbouncer = start(layout)
    pooler, before = watch(pgbouncer), pgbouncer.bytes_of_all()
    taken_over(pooler)
    included, ini = pgbouncer.config_dir / "databases.ini", pgbouncer.main
    included.write_bytes(included.read_bytes() + f"late = {FORCED}\n".replace("@", "").encode())
    ini.write_bytes(b"; ours\n" + ini.read_bytes())
    deployment.apply_pooler(pooler)
    assert take_overs.preview_release(pooler).edited == sorted([str(included), str(ini)], reverse=True)
    taken = released(pooler)
    assert taken.state == TakeOverState.RELEASED
    after = pgbouncer.bytes_of_all()
    assert after["pgbouncer.ini"][0] == b"; ours\n" + before["pgbouncer.ini"][0]
    assert after["databases.ini"][0] == before["databases.ini"][0] + f"late = {FORCED}\n".replace("@", "").encode()
    assert set(taken.reason.split("; ")) == {str(included), str(ini)}


def test_a_difference_puts_the_old_bytes_back(
    cluster: Cluster, start: Start, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    pgbouncer = start(TWO)
    pooler, before, shown = watch(pgbouncer), pgbouncer.bytes_of_all(), pgbouncer.shown()
    keep = evidence.appended_to
    monkeypatch.setattr(
        evidence, "appended_to", lambda text, folder: keep(text, folder) + "[databases]\nanother = port=1\n"
    )
    taken = taken_over(pooler)
    assert taken.state == TakeOverState.REFUSED
    assert taken.reason == "after the reload: SHOW DATABASES has got another"
    assert pgbouncer.bytes_of_all() == before
    assert pgbouncer.shown() == shown
    assert (pooler.is_watched, pooler.pools.count()) == (True, 0)
    assert pooler.revisions.get().state == RevisionState.ROLLED_BACK


@pytest.mark.parametrize("at", ["writing", "reloaded", "read back"])
def test_a_worker_that_dies_leaves_the_old_bytes_to_the_next(
    cluster: Cluster, start: Start, watch: Watch, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    pgbouncer = start(TWO)
    pooler, before, shown = watch(pgbouncer), pgbouncer.bytes_of_all(), pgbouncer.shown()
    step = TakeOverRun.step

    def dying(self: object, word: str, detail: str = "") -> None:
        step(self, word, detail)
        if word == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(TakeOverRun, "step", dying)
    asked = STEPS.request(pooler)
    with pytest.raises(KeyboardInterrupt):
        STEPS.resume(pooler)
    asked.refresh_from_db()
    assert asked.state == TakeOverState.TAKING
    STEPS.resume(Pooler.objects.get(pk=pooler.pk))
    asked.refresh_from_db()
    assert asked.state == TakeOverState.REFUSED
    assert asked.reason.startswith("the worker died during the take-over")
    assert pgbouncer.bytes_of_all() == before
    assert pgbouncer.shown() == shown


def test_a_release_that_fails_leaves_the_pooler_managed(
    cluster: Cluster, start: Start, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    pgbouncer = start(TWO)
    pooler = watch(pgbouncer)
    taken_over(pooler)
    managed = pgbouncer.bytes_of_all()
    reload = console.reload
    monkeypatch.setattr(console, "reload", lambda _console: (_ for _ in ()).throw(IllegalTransition("no")))
    taken = released(pooler)
    monkeypatch.setattr(console, "reload", reload)
    assert (taken.state, taken.reason) == (TakeOverState.TAKEN, "no")
    assert pgbouncer.bytes_of_all() == managed
    assert released(pooler).state == TakeOverState.RELEASED


def not_reloaded(pgbouncer: OperatorsPgBouncer) -> None:
    pgbouncer.main.write_text(pgbouncer.main.read_text().replace("dbname=app", "dbname=other"))


def with_a_setting_not_reloaded(pgbouncer: OperatorsPgBouncer) -> None:
    pgbouncer.main.write_text(pgbouncer.main.read_text() + "max_client_conn = 77\n")


def behind_a_link(pgbouncer: OperatorsPgBouncer) -> None:
    pgbouncer.main.rename(pgbouncer.main.with_suffix(".real"))
    pgbouncer.main.symlink_to(pgbouncer.main.with_suffix(".real"))


def with_a_panels_file(pgbouncer: OperatorsPgBouncer) -> None:
    (pgbouncer.config_dir / "pooldeck.ini").write_text("[databases]\n")


def writable_by_all(pgbouncer: OperatorsPgBouncer) -> None:
    pgbouncer.config_dir.chmod(0o777)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (not_reloaded, "its files differ from what PgBouncer runs with (entry app; entry reports)"),
        (with_a_setting_not_reloaded, "max_client_conn 100 → 77"),
        (behind_a_link, "is a link"),
        (with_a_panels_file, "is there already, as another panel's"),
        (writable_by_all, "is writable by everybody"),
    ],
)
def test_a_preview_says_what_has_to_be_settled_first(
    cluster: Cluster, start: Start, watch: Watch, edit: Callable[[OperatorsPgBouncer], None], words: str
) -> None:
    pgbouncer = start(TWO)
    pooler = watch(pgbouncer)
    edit(pgbouncer)
    with take_over_plan.planned(pooler, "") as plan:
        assert any(words in one for one in plan.blockers), plan.blockers
    with pytest.raises(IllegalTransition):
        STEPS.request(pooler)


def test_passwords_that_were_found_are_sealed_and_the_history_goes_along(
    cluster: Cluster, start: Start, watch: Watch
) -> None:
    pgbouncer = start(TWO)
    pooler = watch(pgbouncer)
    entry, _made = Entry.objects.get_or_create(pooler=pooler, name="app", defaults={"seen_at": timezone.now()})
    figures = [
        one.attname for one in EntryMinute._meta.concrete_fields if not one.null and one.name not in ("id", "entry")
    ]
    minute = EntryMinute.objects.create(entry=entry, **dict.fromkeys(figures, 1))
    taken = taken_over(pooler)
    known = RolePassword.objects.get(cluster=cluster, role="app")
    assert known.password == "app-password"
    stored = str(TakeOver.objects.filter(pk=taken.pk).values()) + str(Pool.objects.values())
    assert "app-password" not in stored
    pool = pooler.pools.get(name="app")
    assert list(PoolMinute.objects.filter(pool=pool).values_list("minute", flat=True)) == [minute.minute]
    entry.refresh_from_db()
    assert entry.pool == pool
    released(pooler)
    assert list(EntryMinute.objects.filter(entry=entry).values_list("minute", flat=True)) == [minute.minute]


def test_the_original_files_can_be_downloaded_by_staff_alone(
    cluster: Cluster, start: Start, watch: Watch, admin_client: Client, client: Client
) -> None:
    pgbouncer = start(TWO)
    pooler, before = watch(pgbouncer), pgbouncer.bytes_of_all()
    taken_over(pooler)
    path = f"/poolers/{pooler.pk}/original-files/"
    assert client.get(path).status_code in (302, 403)
    with tarfile.open(fileobj=io.BytesIO(admin_client.get(path).content)) as archive:
        found = {Path(one.name).name: archive.extractfile(one).read() for one in archive.getmembers()}
    assert found == {name: content for name, (content, *_rest) in before.items()}


def test_the_api_previews_takes_over_and_lets_go(cluster: Cluster, start: Start, watch: Watch) -> None:
    pgbouncer = start(replace(TWO, name="by-api"))
    pooler, shown = watch(pgbouncer), pgbouncer.shown()
    client, path = bearer(), f"/api/v1/poolers/{pooler.pk}/"
    asked = {"config_file": str(pgbouncer.main), "entries": ["app"]}
    answer = client.post(f"{path}take-over/", asked | {"dry_run": True}, format="json")
    assert answer.status_code == 200, answer.content
    assert [(one["name"], one["becomes"], one["because"]) for one in answer.json()["entries"]] == [
        ("app", "pool", ""),
        ("reports", "kept", "it was not chosen"),
    ]
    assert {one["role"] for one in answer.json()["files"]} == {"main", "auth_file"}
    assert all(len(one["sha256"]) == 64 for one in answer.json()["files"])
    assert client.post(f"{path}take-over/", asked | {"delivery": "ssh"}, format="json").status_code == 400
    assert client.post(f"{path}let-go/").status_code == 409
    assert client.post(f"{path}take-over/", asked, format="json").status_code == 202
    STEPS.resume(pooler)
    assert client.post(f"{path}take-over/", asked, format="json").status_code == 409
    assert pgbouncer.shown() == shown
    assert client.post(f"{path}let-go/").status_code == 202
    take_overs.resume(pooler)
    assert client.get(path).json()["management"] == "watched"


def test_pages_lead_from_watched_to_managed_and_back(
    cluster: Cluster, start: Start, watch: Watch, admin_client: Client
) -> None:
    pgbouncer = start(next(one for one in LAYOUTS if one.name == "autobase"))
    pooler = watch(pgbouncer)
    path = f"/poolers/{pooler.pk}/take-over/"
    assert "1. Its main file" in admin_client.get(path).content.decode()
    page = admin_client.get(path, {"config_file": ""}).content.decode()
    assert "any other database" in page
    assert "app-password" not in page
    assert admin_client.post(path, {"config_file": str(pgbouncer.main), "entries": ["app"]}).status_code == 302
    assert "asked for" in admin_client.get(path).content.decode()
    STEPS.resume(pooler)
    assert "The panel manages this pooler" in admin_client.get(path).content.decode()
    leave = f"/poolers/{pooler.pk}/let-go/"
    assert "What letting go does" in admin_client.get(leave).content.decode()
    assert admin_client.post(leave).status_code == 200  # The form was not confirmed.
    assert admin_client.post(leave, {"confirm": "yes"}).status_code == 302
    take_overs.resume(pooler)
    assert "The pooler was let go" in admin_client.get(leave).content.decode()


def test_the_fallback_entry_stays_listed_with_its_line_and_what_it_made(
    cluster: Cluster, start: Start, watch: Watch
) -> None:
    layout = Layout(
        "any",
        {"pgbouncer.ini": main(f"app = {PLAIN}\n* = host=@PGHOST@ port=@PGPORT@", SCRAM), "userlist.txt": USERS},
        {"app": POOL, "*": "kept"},
    )
    pgbouncer = start(layout)
    pooler = watch(pgbouncer)
    taken_over(pooler)
    log_in(pgbouncer, "postgres")
    assert poolers.check(pooler) == ""
    found = {one.name: one for one in pooler.entries.all()}
    assert {name: (one.automatic, bool(one.pool_id), one.cluster) for name, one in found.items()} == {
        "*": (False, False, cluster),
        "app": (False, True, cluster),
        "postgres": (True, False, cluster),
    }
    assert found["*"].source_file == str(pgbouncer.main)
    assert "any other database" in found["*"].kept_because
    assert released(pooler).state == TakeOverState.RELEASED


@pytest.mark.parametrize("page", ["/poolers/{pk}/take-over/?config_file=", "/poolers/take-over/?pooler={pk}&whole=1"])
def test_an_unknown_server_is_registered_from_the_preview_and_its_entries_become_pools_there(
    server: PostgresServer, start: Start, watch: Watch, page: str, db: None
) -> None:
    pooler, browser = watch(start(TWO)), Client()
    browser.force_login(person())
    address = page.format(pk=pooler.pk)
    preview = browser.get(address).content.decode()
    (link,) = {unescape(found) for found in re.findall(r'href="(/clusters/new/[^"]*)"', preview)}
    form = browser.get(link)
    filled = {name: form.context["form"][name].value() for name in ("host", "port", "maintenance_database")}
    assert (filled["host"], int(filled["port"])) == (server.host, server.port)
    login = {"name": "found", "admin_user": server.superuser, "set_aside_connections": 0, "sslmode": "disable"}
    wrong = browser.post(link, {**filled, **login, "admin_password": "wrong"})
    assert (wrong.status_code, "password" in wrong.context["unreachable"]) == (200, True)
    saved = browser.post(link, {**filled, **login, "admin_password": server.password})
    assert saved.url == address
    again = browser.get(saved.url)
    assert "Register this server" not in again.content.decode()
    pools = again.context["rows"][0]["pools"] if "rows" in again.context else again.context["pools"]
    assert {(one.name, one.pool.cluster.name) for one in pools} == {("app", "found"), ("reports", "found")}
