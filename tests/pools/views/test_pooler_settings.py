"""The pages of a pooler's settings, limits and files."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from pools.inventory import pooler_settings
from pools.models import PoolerState, PoolState
from pools.poolers import KINDS
from pools.poolers.pgbouncer import console
from tests.callers import queries_of
from tests.certificates import self_signed
from tests.pages import page_of
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def pooler():
    return a_pooler(server_version="PgBouncer 1.24.1")


def url_of(pooler, page=""):
    return f"/poolers/{pooler.pk}/settings/{page}"


def row_of(answer, name):
    return next(row for group in answer.context["groups"] for row in group.rows if row.setting.name == name)


def test_only_what_the_release_knows_is_offered(staff, pooler):
    answer = staff.get(url_of(pooler))
    fields = answer.context["form"].fields
    assert "max_prepared_statements" in fields
    assert "transaction_timeout" not in fields
    assert fields["max_prepared_statements"].widget.attrs["placeholder"] == "200"
    assert "auth_hba_file" not in fields
    page = page_of(answer)
    assert "needs restart" in page
    assert "All settings of PgBouncer 1.24.1" in page


@pytest.mark.parametrize(
    ("version", "since"),
    [
        (
            "PgBouncer 1.25.0",
            {"default_pool_size": "", "max_prepared_statements": "1.21", "query_wait_notify": "1.25"},
        ),
        ("Pgpool-II 4.6.0", {"num_init_children": "", "process_management_mode": "4.4", "log_line_prefix": ""}),
    ],
)
def test_since_stands_only_where_an_older_release_is_supported_that_does_not_know_it(staff, version, since):
    kind = "pgpool" if "Pgpool" in version else "pgbouncer"
    answer = staff.get(url_of(a_pooler(kind=kind, server_version=version)))
    assert {name: row_of(answer, name).since for name in since} == since
    shown = [row for group in answer.context["groups"] for row in group.rows]
    assert sum(bool(row.since) for row in shown) < len(shown) / 4
    page = page_of(answer)
    assert page.count("<dt>Since</dt>") == sum(bool(row.since) for row in shown)


def test_a_setting_has_its_own_name_a_sentence_and_its_place_in_the_manual(staff, pooler):
    answer = staff.get(url_of(pooler))
    page = page_of(answer)
    row = page[page.index(">dns_max_ttl</label>") :]
    sentence = "PgBouncer caches a DNS answer for at most this many seconds, whatever its own TTL (default 15)."
    assert sentence in row
    assert 'href="https://www.pgbouncer.org/config.html#dns_max_ttl"' in row
    assert 'Manual<span class="visually-hidden">: dns_max_ttl</span>' in row
    assert page.count('class="pd-manual"') == sum(len(group.rows) for group in answer.context["groups"])


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_settings_are_offered_only_where_there_are_several(staff, kind):
    answer = staff.get(url_of(a_pooler(kind=kind)))
    several = answer.context["takes_users"] or answer.context["takes_files"]
    assert ('class="pd-pills"' in page_of(answer)) is bool(several)


def test_what_belongs_to_the_installation_is_shown_with_the_reason(staff, pooler):
    answer = staff.get(url_of(pooler))
    assert row_of(answer, "listen_port").bound is None
    assert "Read-only: clients and the panel know it by this port." in page_of(answer)


def test_what_an_upgrade_left_behind_can_be_emptied(staff, pooler, asked):
    pooler.settings, pooler.server_version = {"suspend_timeout": 5, "verbose": 1}, "PgBouncer 1.26.1"
    pooler.user_settings = {"app": {"odd": 1}}
    pooler.save(update_fields=["settings", "user_settings", "server_version"])
    page = staff.get(url_of(pooler))
    assert page.context["groups"][0].name == "Of another release"
    assert "empty it, or nothing is applied" in page_of(page)
    staff.post(url_of(pooler), {"version": 1, "suspend_timeout": "", "verbose": "1"})
    staff.post(url_of(pooler, "users/"), {"version": 2, "user": "app", "odd": ""})
    pooler.refresh_from_db()
    assert (pooler.settings, pooler.user_settings) == ({"verbose": 1}, {})


def test_a_setting_that_may_be_empty_is_told_to_be_so_on_purpose(staff, pooler, asked):
    assert row_of(staff.get(url_of(pooler)), "max_client_conn").empty is None
    staff.post(url_of(pooler), {"version": 1, "empty_server_check_query": "on", "verbose": "1"})
    pooler.refresh_from_db()
    assert pooler.settings == {"server_check_query": "", "verbose": 1}
    answer = staff.get(url_of(pooler))
    row = row_of(answer, "server_check_query")
    assert (row.empty.value(), row.bound.value(), row.is_changed) == (True, "", True)
    page = page_of(answer)
    assert "Empty on purpose<span" in page
    assert 'name="empty_server_check_query"' in page
    staff.post(url_of(pooler), {"version": 2, "empty_server_check_query": "on", "verbose": ""})  # as it stands
    pooler.refresh_from_db()
    assert pooler.settings == {"server_check_query": ""}
    staff.post(url_of(pooler), {"version": 3, "server_check_query": " "})
    pooler.refresh_from_db()
    assert pooler.settings == {}


def test_a_value_beside_the_word_that_there_is_none_is_refused(staff, pooler, asked):
    answer = staff.post(
        url_of(pooler), {"version": 1, "server_check_query": "select 2", "empty_server_check_query": "on"}
    )
    assert "remove one of them" in answer.context["form"].errors["server_check_query"][0]
    pooler.refresh_from_db()
    assert pooler.settings == {}


def test_a_stale_edit_tells_empty_on_purpose_from_the_default(staff, pooler, asked):
    pooler_settings.change_settings(pooler, {"server_reset_query": ""})
    answer = staff.post(url_of(pooler), {"version": 1, "empty_server_check_query": "on"})
    assert answer.status_code == 409
    described = {one["label"]: (one["yours"], one["theirs"]) for one in answer.context["stale"]}
    assert described == {"server_reset_query": ("default", "empty"), "server_check_query": ("empty", "default")}


def test_live_values_stand_beside_the_fields(staff, pooler, monkeypatch):
    pooler.state = PoolerState.ONLINE
    pooler.save(update_fields=["state"])
    monkeypatch.setattr(console, "show", lambda *_: [{"key": "max_client_conn", "value": "417"}])
    answer = staff.get(url_of(pooler))
    assert row_of(answer, "max_client_conn").live == "417"
    assert row_of(answer, "verbose").live is None


def test_values_stand_there_as_people_write_them(staff, pooler, monkeypatch):
    live = {"so_reuseport": "0", "tcp_keepalive": "1", "unix_socket_mode": "511", "max_client_conn": "1"}
    monkeypatch.setattr("pools.poolers.live_settings.read", lambda pooler: live)
    page = page_of(staff.get(f"/poolers/{pooler.pk}/settings/"))

    def described(name: str) -> list[str]:
        row = page[page.index(f">{name}</label>") :]
        return re.findall(r"<dt>(?:Now|Default)</dt><dd>([^<]*)</dd>", row)[:2]

    assert [described(name) for name in live] == [["off", "off"], ["on", "on"], ["0777", "0777"], ["1", "100"]]


def test_what_is_typed_is_saved_and_asked_for(staff, pooler, asked):
    answer = staff.post(url_of(pooler), {"version": 1, "max_client_conn": "500", "log_stats": "0"})
    assert (answer.status_code, answer.url) == (302, url_of(pooler))
    pooler.refresh_from_db()
    assert pooler.settings == {"max_client_conn": 500, "log_stats": 0}
    assert asked() == [str(pooler.pk)]
    page = page_of(staff.get(url_of(pooler)))
    assert 'value="500"' in page
    assert "Saved, and not live yet" in page


def test_a_field_that_was_emptied_gives_the_default_again(staff, pooler, asked):
    pooler_settings.change_settings(pooler, {"verbose": 1, "log_stats": 0})
    staff.post(url_of(pooler), {"version": pooler.version, "verbose": "", "log_stats": "0"})
    pooler.refresh_from_db()
    assert pooler.settings == {"log_stats": 0}


def test_errors_stand_beside_their_fields_and_nothing_typed_is_lost(staff, pooler):
    answer = staff.post(url_of(pooler), {"version": 1, "max_client_conn": "many", "verbose": "2"})
    form = answer.context["form"]
    assert form.errors == {"max_client_conn": ["max_client_conn='many' is not a whole number: enter one such as 10"]}
    assert (form["max_client_conn"].value(), form["verbose"].value()) == ("many", "2")
    pooler.refresh_from_db()
    assert pooler.settings == {}


def test_a_stale_edit_shows_both_values(staff, pooler, asked):
    pooler_settings.change_settings(pooler, {"verbose": 1})
    answer = staff.post(url_of(pooler), {"version": 1, "verbose": "2"})
    assert answer.status_code == 409
    assert answer.context["stale"] == [{"label": "verbose", "yours": "2", "theirs": "1"}]
    assert answer.context["form"]["version"].value() == "2"
    again = staff.post(url_of(pooler), {"version": 2, "verbose": "2"})
    assert again.status_code == 302


def test_a_refused_wish_says_why(staff, pooler):
    pooler.settings_state, pooler.settings_reason = PoolState.ROLLED_BACK, "the pooler said no"
    pooler.save(update_fields=["settings_state", "settings_reason"])
    page = page_of(staff.get(url_of(pooler)))
    assert "These settings are not live: rolled back" in page
    assert "the pooler said no" in page


def test_what_waits_for_a_restart_is_told_with_the_steps(staff, pooler):
    pooler.needs_restart = [{"name": "listen_backlog", "live": "128", "wanted": "256"}]
    pooler.save(update_fields=["needs_restart"])
    answer = staff.get(url_of(pooler))
    page = page_of(answer)
    assert "1 setting waits for a restart of the program" in page
    assert "systemctl restart pgbouncer" in page
    assert row_of(answer, "listen_backlog").waits
    assert "systemctl restart pgbouncer" in page_of(staff.get(url_of(pooler, "state/?steps=1")))
    assert "systemctl" not in page_of(staff.get(url_of(pooler, "files/")))


def test_the_page_asks_for_news_only_while_something_moves(staff, pooler, asked):
    assert "hx-trigger" not in page_of(staff.get(url_of(pooler, "state/")))
    pooler_settings.change_settings(pooler, {"verbose": 1})
    assert "hx-trigger" in page_of(staff.get(url_of(pooler, "state/")))


def test_readers_look_and_do_not_change(reader, pooler):
    answer = reader.get(url_of(pooler))
    assert answer.context["form"].fields["max_client_conn"].disabled
    assert "Save and apply" not in page_of(answer)
    for page in ("", "users/", "files/", "users/remove/", "files/auth_hba_file/remove/"):
        assert reader.post(url_of(pooler, page), {"version": 1, "verbose": "1"}).status_code == 403
    for page in ("users/", "files/"):
        assert "Save and apply" not in page_of(reader.get(url_of(pooler, page)))


@pytest.mark.parametrize("page", ["", "users/", "files/", "state/"])
def test_strangers_and_missing_poolers(client, staff, pooler, page):
    missing = url_of(pooler, page).replace(str(pooler.pk), "00000000-0000-0000-0000-000000000000")
    assert staff.get(missing).status_code == 404
    staff.logout()
    assert staff.get(url_of(pooler, page)).status_code == 302


def test_limits_of_a_user_are_given_changed_and_taken_away(staff, pooler, asked):
    users = url_of(pooler, "users/")
    assert "No user has its own limits" in page_of(staff.get(users))
    assert staff.post(users, {"version": 1, "user": "app", "max_user_connections": "5"}).status_code == 302
    page = page_of(staff.get(f"{users}?user=app"))
    assert "Change the limits of app" in page
    assert 'value="5"' in page
    staff.post(users, {"version": 2, "user": "app", "max_user_connections": "7", "pool_mode": "session"})
    pooler.refresh_from_db()
    assert pooler.user_settings == {"app": {"max_user_connections": 7, "pool_mode": "session"}}
    staff.post(url_of(pooler, "users/remove/"), {"user": "app"})
    pooler.refresh_from_db()
    assert pooler.user_settings == {}


def test_a_limit_that_can_not_be_taken_stands_beside_its_field(staff, pooler):
    answer = staff.post(url_of(pooler, "users/"), {"version": 1, "user": "two words", "query_timeout": "soon"})
    assert list(answer.context["form"].errors) == ["user"]
    answer = staff.post(url_of(pooler, "users/"), {"version": 1, "user": "app", "query_timeout": "soon"})
    assert list(answer.context["form"].errors) == ["query_timeout"]


def test_files_are_pasted_or_uploaded_and_keys_never_shown_again(staff, pooler, asked):
    key, certificate = self_signed("db.example")
    files = url_of(pooler, "files/")
    upload = SimpleUploadedFile("key.pem", key.encode())
    answer = staff.post(
        files, {"version": 1, "client_tls_cert_file": certificate, "upload_client_tls_key_file": upload}
    )
    assert answer.status_code == 302
    page = page_of(staff.get(files))
    assert "db.example" in page
    assert "PRIVATE KEY" not in page
    assert key.splitlines()[1] not in page
    assert "SHA-256 of its public key" in page
    assert pooler.given_files.count() == 2


def test_a_bad_file_says_why_and_keeps_what_was_given(staff, pooler):
    _, certificate = self_signed("db.example")
    other, _ = self_signed("else")
    files = url_of(pooler, "files/")
    upload = SimpleUploadedFile("key.pem", other.encode())
    typed = {"version": 1, "client_tls_cert_file": certificate, "upload_client_tls_key_file": upload}
    answer = staff.post(files, typed)
    form = answer.context["form"]
    assert "does not belong" in form.errors["client_tls_key_file"][0]
    assert form["client_tls_key_file"].value() == other
    assert form["client_tls_cert_file"].value() == certificate
    binary = SimpleUploadedFile("rules.conf", b"\xff\xfe\x00")
    answer = staff.post(files, {"version": 1, "upload_auth_hba_file": binary})
    assert "not a text file in UTF-8" in answer.context["form"].errors["auth_hba_file"][0]
    assert "no file was given" in staff.post(files, {"version": 1}).context["form"].errors["__all__"][0]
    assert not pooler.given_files.exists()


def test_rules_are_shown_and_taken_away(staff, pooler, asked):
    files = url_of(pooler, "files/")
    staff.post(files, {"version": 1, "auth_hba_file": "local all all peer\n"})
    assert "local all all peer" in page_of(staff.get(files))
    page = page_of(staff.post(url_of(pooler, "files/auth_hba_file/remove/"), follow=True))
    assert "auth_hba_file was removed" in page
    assert not pooler.given_files.exists()
    page = page_of(staff.post(url_of(pooler, "files/auth_hba_file/remove/"), follow=True))
    assert "no such file was given" in page


def test_the_pages_cost_the_same_with_one_and_three_files(staff, pooler, asked):
    staff.post(url_of(pooler, "files/"), {"auth_hba_file": "local all all peer\n"})
    once = queries_of(staff, url_of(pooler, "files/"))
    key, certificate = self_signed("db.example")
    staff.post(url_of(pooler, "files/"), {"server_tls_cert_file": certificate, "server_tls_key_file": key})
    assert queries_of(staff, url_of(pooler, "files/")) == once
