"""The REST API of a pooler's settings, limits and files."""

import uuid

import pytest

from pools.models import Pooler, PoolState
from tests.callers import anonymous, bearer, queries_of
from tests.certificates import self_signed
from tests.pools.api.conftest import make_pooler

pytestmark = pytest.mark.django_db
URL = "/api/v1/poolers/"


@pytest.fixture
def pooler():
    return make_pooler(server_version="PgBouncer 1.24.1")


def url_of(pooler, path=""):
    return f"{URL}{pooler.pk}/{path}"


def test_settings_are_merged_by_patch_and_an_empty_value_takes_one_away(admin, pooler):
    answer = admin.patch(
        url_of(pooler), {"settings": {"max_client_conn": 500, "log_stats": False}, "version": 1}, "json"
    )
    assert answer.status_code == 200
    read = answer.json()
    assert read["settings"] == {"max_client_conn": 500, "log_stats": 0}
    assert (read["settings_state"], read["settings_reason"], read["needs_restart"]) == ("pending", "", [])
    answer = admin.patch(url_of(pooler), {"settings": {"log_stats": None, "verbose": "1"}}, "json")
    assert answer.json()["settings"] == {"max_client_conn": 500, "verbose": 1}


def test_an_empty_text_is_a_value_where_it_may_be_and_null_takes_it_away(admin, pooler):
    asked = {"server_check_query": "", "syslog_ident": "edge"}
    assert admin.patch(url_of(pooler), {"settings": asked}, "json").json()["settings"] == asked
    listed = {one["name"]: one for one in admin.get(url_of(pooler, "settings/?page_size=200")).json()["results"]}
    found = {name: (listed[name]["may_be_empty"], listed[name]["value"]) for name in asked}
    assert found == {"server_check_query": (True, ""), "syslog_ident": (False, "edge")}
    answer = admin.patch(url_of(pooler), {"settings": {"server_check_query": None, "syslog_ident": ""}}, "json")
    assert answer.json()["settings"] == {}


def test_put_replaces_the_whole(admin, pooler):
    admin.patch(
        url_of(pooler), {"settings": {"verbose": 1}, "user_settings": {"app": {"max_user_connections": 3}}}, "json"
    )
    whole = admin.get(url_of(pooler)).json()
    whole |= {"settings": {"log_stats": 0}, "user_settings": {"reader": {"pool_mode": "session"}}}
    answer = admin.put(url_of(pooler), whole, "json")
    assert answer.status_code == 200
    assert answer.json()["settings"] == {"log_stats": 0}
    assert answer.json()["user_settings"] == {"reader": {"pool_mode": "session"}}


def test_limits_of_users_are_merged_and_an_empty_user_is_forgotten(admin, pooler):
    admin.patch(url_of(pooler), {"user_settings": {"app": {"max_user_connections": 3}, "b": {"pool_size": 2}}}, "json")
    answer = admin.patch(url_of(pooler), {"user_settings": {"app": {"pool_mode": "session"}, "b": {}}}, "json")
    assert answer.json()["user_settings"] == {"app": {"max_user_connections": 3, "pool_mode": "session"}}


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (
            {"settings": {"max_client_conn": "many"}},
            {"settings": ["max_client_conn='many' is not a whole number: enter one such as 10"]},
        ),
        (
            {"settings": {"transaction_timeout": 5}},
            {"settings": ["transaction_timeout came with 1.25, and this is 1.24: leave it out, or upgrade"]},
        ),
        (
            {"user_settings": {"app": {"connect_query": "SELECT 1"}}},
            {"user_settings": ["user app: connect_query is not a setting of a user, but of: pool; give it there"]},
        ),
    ],
)
def test_bad_values_name_their_setting_and_nothing_is_saved(admin, pooler, change, reported):
    answer = admin.patch(url_of(pooler), {"name": "renamed", "settings": {"verbose": 1}} | change, "json")
    assert (answer.status_code, answer.json()) == (400, reported)
    stands = Pooler.objects.get()
    assert (stands.settings, stands.user_settings, stands.settings_state) == ({}, {}, PoolState.APPLIED)


def test_a_stale_edit_is_refused(admin, pooler):
    admin.patch(url_of(pooler), {"settings": {"verbose": 1}}, "json")
    assert admin.patch(url_of(pooler), {"settings": {"verbose": 2}, "version": 1}, "json").status_code == 409


def test_settings_are_not_taken_before_the_release_is_known(admin):
    values = {"name": "new", "host": "127.0.0.1", "port": 1, "admin_user": "a", "admin_password": "b"}
    answer = admin.post(URL, values | {"config_dir": "/nowhere/new", "settings": {"verbose": 1}}, "json")
    assert (answer.status_code, list(answer.json())) == (400, ["settings"])
    assert not Pooler.objects.exists()


def test_the_catalog_of_its_release_is_listed_with_what_is_given(admin, pooler):
    admin.patch(url_of(pooler), {"settings": {"verbose": 1}}, "json")
    read = admin.get(url_of(pooler, "settings/?page_size=200")).json()
    found = {(one["scope"], one["name"]): one for one in read["results"]}
    assert len(found) == read["count"]
    verbose = found["program", "verbose"]
    assert (verbose["value"], verbose["live"], verbose["minimum"], verbose["maximum"]) == (1, None, 0, 3)
    assert found["program", "listen_port"]["only_shown"]
    assert found["program", "listen_backlog"]["restart"]
    assert ("pool", "connect_query") in found
    assert ("program", "transaction_timeout") not in found


def test_files_go_in_and_never_come_out(admin, pooler):
    key, certificate = self_signed("db.example")
    both = {"files": {"client_tls_key_file": key, "client_tls_cert_file": certificate}}
    assert admin.post(url_of(pooler, "files/"), both, "json").status_code == 200
    answer = admin.put(url_of(pooler, "files/auth_hba_file/"), {"content": "local all all peer\n"}, "json")
    assert (answer.status_code, answer.json()["setting"]) == (200, "auth_hba_file")
    listed = admin.get(url_of(pooler, "given-files/"))
    rows = {row["setting"]: row for row in listed.json()["results"]}
    assert rows["client_tls_cert_file"]["subject"] == "db.example"
    assert rows["client_tls_key_file"]["fingerprint"]
    assert "PRIVATE" not in listed.content.decode()
    assert "peer" not in listed.content.decode()
    assert Pooler.objects.get().settings_state == PoolState.PENDING
    assert admin.delete(url_of(pooler, "files/auth_hba_file/")).status_code == 204
    assert admin.delete(url_of(pooler, "files/auth_hba_file/")).status_code == 404


def test_a_bad_file_names_its_line(admin, pooler):
    answer = admin.put(url_of(pooler, "files/auth_hba_file/"), {"content": "# rules\nhost all\n"}, "json")
    assert answer.status_code == 400
    assert answer.json()["auth_hba_file"][0].startswith("line 2: it has 2 fields, and needs type")
    assert admin.put(url_of(pooler, "files/auth_file/"), {"content": "x"}, "json").status_code == 400
    assert admin.put(url_of(pooler, "files/auth_hba_file/"), {}, "json").json().keys() == {"content"}


def test_known_weaknesses_of_the_release_are_told(admin, pooler):
    described = {one["cve"]: one for one in admin.get(url_of(pooler)).json()["advisories"]}
    assert described["CVE-2026-6667"]["fixed_in"] == "1.25.2"
    assert described["CVE-2026-6667"]["packages"] == ["Debian 13's 1.24.1-1+deb13u2"]
    assert "CVE-2025-2291" not in described


def test_strangers_wrong_scopes_methods_and_missing_ids(admin, pooler):
    reader = bearer("read", "run", "apply")
    for path in ("settings/", "given-files/"):
        assert anonymous().get(url_of(pooler, path)).status_code == 401
        assert reader.get(url_of(pooler, path)).status_code == 200
        assert admin.get(f"{URL}{uuid.uuid4()}/{path}").status_code == 404
    assert admin.post(url_of(pooler, "settings/")).status_code == 405
    assert admin.get(url_of(pooler, "files/auth_hba_file/")).status_code == 405
    assert reader.put(url_of(pooler, "files/auth_hba_file/"), {"content": "x"}, "json").status_code == 403
    assert reader.post(url_of(pooler, "files/"), {"files": {}}, "json").status_code == 403
    assert reader.delete(url_of(pooler, "files/auth_hba_file/")).status_code == 403
    assert reader.patch(url_of(pooler), {"settings": {"verbose": 1}}, "json").status_code == 403


def test_the_number_of_queries_does_not_grow_with_the_files(admin, pooler):
    admin.put(url_of(pooler, "files/auth_hba_file/"), {"content": "local all all peer\n"}, "json")
    once = queries_of(admin, url_of(pooler, "files/"))
    key, certificate = self_signed("db.example")
    admin.post(
        url_of(pooler, "files/"), {"files": {"server_tls_key_file": key, "server_tls_cert_file": certificate}}, "json"
    )
    assert queries_of(admin, url_of(pooler, "files/")) == once
