"""The pages of entries that are not managed here, and the places where they stand beside pools."""

import pytest

from pools.models import Pool, PoolerState
from pools.poolers import KINDS
from pools.poolers.base import Driver
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry

PAGES = ["", "monitoring/", "clients/", "logins/", "mode/", "run/"]


@pytest.fixture
def entry(db):
    """An entry of a watched pooler that is down, whose server is registered."""
    pooler = a_pooler(name="edge", config_dir="", port=1, client_host="pool.example.org")
    return an_entry(name="orders", pooler=pooler, cluster=a_cluster(name="shop"), user="app")


@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_there_for_staff(staff, entry, page):
    assert "orders" in page_of(staff.get(f"/entries/{entry.pk}/{page}"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_an_entry_that_is_gone_is_not_found(staff, entry, page):
    entry.delete()
    assert staff.get(f"/entries/{entry.pk}/{page}").status_code == 404


def test_its_page_shows_connection_strings_with_the_address_of_clients(staff, entry):
    page = page_of(staff.get(f"/entries/{entry.pk}/"))
    assert "postgresql://app@pool.example.org:1/orders" in page
    assert "not managed here" in page


@pytest.mark.parametrize("url", ["/pools/", "/entries/", "/", "/poolers/", "/entries/?q=ord", "/pools/?q=ord"])
def test_an_entry_is_never_invisible(staff, entry, url):
    page = page_of(staff.get(url))
    assert "not managed here" in page.lower()
    assert "orders" in page or url == "/poolers/"


def test_it_stands_on_its_poolers_page(staff, entry):
    page = page_of(staff.get(f"/poolers/{entry.pooler_id}/"))
    for words in ("orders", "watched", "not managed here: the pooler is only watched"):
        assert words in page
    assert "New pool" not in page


@pytest.mark.parametrize("query", ["q=nothing", "state=applied", "cluster=other", "pooler=other"])
def test_the_list_is_filtered_as_the_pools_are(staff, entry, query):
    assert staff.get(f"/entries/?{query}").context["entries"] == []


def test_an_entry_that_is_a_pool_is_listed_among_the_pools_alone(staff, entry):
    pool = a_pool(name="orders", pooler=a_pooler(port=1))
    entry.pool = pool
    entry.save()
    assert staff.get("/entries/").context["entries"] == []


@pytest.mark.parametrize("url", ["/entries/", "/pools/", "/", "/poolers/"])
def test_a_list_costs_the_same_with_one_and_three_entries(staff, entry, url):
    once = queries_of(staff, url)
    for _ in range(2):
        an_entry(pooler=entry.pooler, cluster=entry.cluster)
    assert queries_of(staff, url) == once


@pytest.mark.parametrize("page", ["settings/", "settings/users/", "settings/files/", "drift/", "access/"])
def test_pages_that_would_change_a_watched_pooler_lead_back_with_the_reason(staff, entry, page):
    answer = staff.get(f"/poolers/{entry.pooler_id}/{page}", follow=True)
    assert answer.redirect_chain == [(f"/poolers/{entry.pooler_id}/", 302)]
    assert "take it over first" in page_of(answer)


def test_a_watched_pooler_is_not_offered_to_new_pools(staff, entry):
    form = staff.get("/pools/new/").context["form"]
    assert list(form.fields["pooler"].queryset) == []
    assert not Pool.objects.exists()


def test_a_server_that_is_not_registered_is_offered(staff, entry):
    elsewhere = an_entry(name="far", pooler=entry.pooler, host="db9", port=5433)
    page = page_of(staff.get(f"/entries/{elsewhere.pk}/mode/?mode=transaction"))
    assert "No registered cluster is known to be the server at db9:5433" in page
    form = staff.get("/clusters/new/?host=db9&port=5433").context["form"]
    assert (form["host"].value(), form["port"].value()) == ("db9", "5433")


def test_verbs_that_the_login_may_not_use_are_named(staff, entry):
    entry.pooler.mark(PoolerState.ONLINE, "PgBouncer 1.24.1", refused="stats is none of the admin_users")
    assert "stats is none of the admin_users" in page_of(staff.get(f"/poolers/{entry.pooler_id}/"))


def test_the_fallback_is_called_any_other_database_and_lists_what_it_made(staff, entry):
    fallback = an_entry(name="*", database="", pooler=entry.pooler, cluster=entry.cluster)
    made = an_entry(name="web", pooler=entry.pooler, automatic=True)
    page = page_of(staff.get(f"/entries/{fallback.pk}/"))
    for words in ("any other database", "Any database on", f"/entries/{made.pk}/"):
        assert words in page
    assert f'href="/entries/{entry.pk}/"' not in page
    assert "made by “any other database”" in page_of(staff.get("/entries/?q=web"))


@pytest.mark.parametrize(("kind", "views"), [("pgpool", "SHOW POOL_NODES"), ("haproxy", "SHOW STAT")])
def test_another_kind_is_taken_over_from_its_page_too(staff, kind, views):
    pooler = a_pooler(kind=kind, config_dir="", port=1)
    assert f"/poolers/{pooler.pk}/take-over/" in page_of(staff.get(f"/poolers/{pooler.pk}/"))
    assert views in page_of(staff.get(f"/poolers/{pooler.pk}/take-over/"))


def test_a_kind_without_steps_says_so_on_its_page(staff, monkeypatch):
    kind = KINDS["haproxy"]
    monkeypatch.setitem(vars(kind), "take_over_obstacle", lambda pooler: Driver.take_over_obstacle(kind, pooler))
    page = page_of(staff.get(f"/poolers/{a_pooler(kind='haproxy', config_dir='', port=1).pk}/"))
    assert "The panel has no steps that take over a running HAProxy" in page
    assert "take-over/" not in page


class TestPaste:
    """The page of a pasted list."""

    values = {"lines": "127.0.0.1:1\n127.0.0.1:0\n", "kind": "pgbouncer", "admin_user": "x", "admin_password": "geheim"}

    def test_lines_that_fail_keep_their_reason_and_the_list_stays(self, staff):
        page = page_of(staff.post("/poolers/paste/", self.values))
        assert page.count("not registered") == 2
        assert "Connection refused" in page
        assert "127.0.0.1:0" in page

    def test_htmx_gets_rows_that_ask_for_themselves(self, staff):
        answer = staff.post("/poolers/paste/", self.values, headers={"HX-Request": "true"})
        assert [line.number for line in answer.context["waiting"]] == [1, 2]
        row = staff.post("/poolers/paste/line/", self.values | {"line": "2"}, headers={"HX-Request": "true"})
        assert "0 is not a port" in row.content.decode()

    @pytest.mark.parametrize("line", ["", "x", "9"])
    def test_a_line_that_the_list_has_not_is_a_bad_request(self, staff, line):
        assert staff.post("/poolers/paste/line/", self.values | {"line": line}).status_code == 400

    def test_an_empty_list_is_refused_beside_its_field(self, staff):
        assert "the list has no line" in page_of(staff.post("/poolers/paste/", self.values | {"lines": "# none"}))


def test_a_fallback_that_the_console_proves_is_shown_without_what_is_not_known(staff, db):
    pooler = a_pooler(config_dir="", port=1)
    entry = an_entry(name="*", pooler=pooler, host="", port=None, database="", size=None)
    made = an_entry(name="made", pooler=pooler, automatic=True)
    page = page_of(staff.get(f"/entries/{entry.pk}/"))
    assert "any other database" in page
    assert "The console lists no entry <code>*</code>" in page
    assert f'href="/entries/{made.pk}/"' in page
    assert "for each role that logs in" not in page
    assert "there is no mode to check here" in page
    assert [f"/entries/{entry.pk}/{one}/" in page for one in ("run", "mode", "size", "logins")] == [False] * 3 + [True]
    assert "any other database" in page_of(staff.get(f"/poolers/{pooler.pk}/"))


@pytest.mark.parametrize(
    ("addresses", "words"),
    [
        ({}, "The addresses of <code>db9</code> can't be known yet"),
        ({"db9": ["10.1.0.9"]}, "resolves <code>db9</code> to 10.1.0.9, where the panel reaches no cluster"),
    ],
)
def test_a_server_that_is_known_by_its_name_alone_says_what_can_be_known(staff, db, addresses, words):
    entry = an_entry(host="db9", port=5432, addresses=addresses)
    assert words in page_of(staff.get(f"/entries/{entry.pk}/"))
