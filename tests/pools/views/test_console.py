"""The pages of a pooler's console: tables that sort, filter, page and refresh."""

import pytest
from django.urls import reverse

from pools.console import show_cache
from pools.console.show_cache import ShowResult
from pools.models import PoolerKind
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_pool, a_pooler

DATABASES = [
    {"name": "orders", "host": "db1", "pool_size": 10, "paused": 1, "disabled": 0},
    {"name": "stranger", "host": "db2", "pool_size": 5, "paused": 0, "disabled": 0},
]


@pytest.fixture
def console(monkeypatch):
    """Replace the results of SHOW, by command; collect the commands that were sent."""
    answers, asked = {"databases": DATABASES}, []

    def rows(pooler, word):
        asked.append(word)
        return (
            ShowResult(answers[word]) if word in answers else ShowResult(error="pooler edge can't be reached: refused")
        )

    monkeypatch.setattr(show_cache, "rows", rows)
    answers["asked"] = asked
    return answers


def names(answer):
    return [row["cells"][0].text for row in answer.context["rows"]]


def url_of(pooler, word="databases", query=""):
    return reverse("pooler-console", args=[pooler.pk, word]) + query


def test_without_a_word_the_pools_are_shown(staff, console):
    console["pools"] = [{"database": "orders", "cl_waiting": 3}]
    answer = staff.get(reverse("pooler-console", args=[a_pooler().pk]))
    assert (answer.context["word"], console["asked"]) == ("pools", ["pools"])
    assert 'class="pd-number pd-alarm">3</td>' in page_of(answer)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["orders", "stranger"]),
        ("?sort=pool_size", ["stranger", "orders"]),
        ("?sort=-pool_size", ["orders", "stranger"]),
        ("?q=DB2", ["stranger"]),
        ("?q=nowhere", []),
    ],
)
def test_a_table_is_sorted_and_filtered_by_its_address(staff, console, query, found):
    answer = staff.get(url_of(a_pooler(), query=query))
    assert names(answer) == found


def test_a_sort_link_turns_round_and_keeps_the_filter(staff, console):
    page = page_of(staff.get(url_of(a_pooler(), query="?q=o&sort=-pool_size&page=1")))
    assert 'aria-sort="descending"><a id="sort-pool_size" href="?q=o&amp;sort=pool_size"' in page


def test_thousands_of_clients_come_in_pages(staff, console):
    console["clients"] = [{"ptr": number, "link": ""} for number in range(250)]
    pooler = a_pooler()
    answer = staff.get(url_of(pooler, "clients", "?page=3&sort=-ptr"))
    assert [row["cells"][1].text for row in answer.context["rows"]] == [str(number) for number in range(49, -1, -1)]
    assert "201–250 of 250" in page_of(answer)
    assert len(names(staff.get(url_of(pooler, "clients")))) == 100


def test_a_refresh_brings_the_table_and_what_stands_around_it(staff, console):
    asked = {"HX-Request": "true", "HX-Target": "console-table"}
    page = page_of(staff.get(url_of(a_pooler(), query="?q=orders"), headers=asked))
    assert page.startswith('<div id="console-table" hx-get="/poolers/')
    assert '<span id="console-count" hx-swap-oob="true"><span class="pd-muted">1 of 2 rows' in page
    assert "<html" not in page


def test_the_refresh_can_be_stopped_without_javascript(staff, console):
    pooler = a_pooler()
    assert "every 2s" in page_of(staff.get(url_of(pooler)))
    page = page_of(staff.get(url_of(pooler, query="?live=off&sort=host")))
    assert "every 2s" not in page
    assert 'href="?sort=host">' in page


def test_csv_holds_every_row_that_was_found(staff, console):
    console["clients"] = [{"user": "=cmd()", "wait_us": number} for number in range(150)]
    answer = staff.get(url_of(a_pooler(name="edge"), "clients", "?as=csv&sort=-wait_us"))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="edge-clients.csv"'
    lines = answer.content.decode().splitlines()
    assert (len(lines), lines[:2]) == (151, ["user,wait_us", "'=cmd(),149"])


def test_a_console_that_is_down_says_why(staff, console):
    page = page_of(staff.get(url_of(a_pooler(), "servers")))
    assert "pooler edge can&#x27;t be reached: refused" in page


def test_rows_of_known_pools_lead_to_their_verbs(staff, console):
    pool = a_pool(name="orders")
    page = page_of(staff.get(url_of(pool.pooler)))
    assert reverse("pool-verb", args=[pool.pk, "resume"]) in page  # it is paused
    assert reverse("pool-verb", args=[pool.pk, "pause"]) not in page
    assert page.count("reconnect</a>") == 1


def test_readers_see_tables_and_no_verbs(reader, console):
    pool = a_pool(name="orders")
    answer = reader.get(url_of(pool.pooler))
    assert answer.status_code == 200
    assert reverse("pool-verb", args=[pool.pk, "kill"]) not in page_of(answer)


def test_values_are_escaped(staff, console):
    console["clients"] = [{"application_name": "<script>alert(1)</script>"}]
    assert "<script>alert(1)" not in page_of(staff.get(url_of(a_pooler(), "clients")))


@pytest.mark.parametrize("word", ["fds", "help", "nosuch"])
def test_other_words_are_not_found(staff, console, word):
    assert staff.get(url_of(a_pooler(), word)).status_code == 404
    assert console["asked"] == []


def test_a_release_is_not_asked_for_later_words(staff, console):
    console["state"] = [{"key": "active", "value": "yes"}]
    assert staff.get(url_of(a_pooler(server_version="PgBouncer 1.18.0"), "state")).status_code == 404
    assert staff.get(url_of(a_pooler(server_version="PgBouncer 1.24.1"), "state")).status_code == 200


def test_a_kind_without_words_has_an_empty_page(staff, console, monkeypatch):
    pooler = a_pooler(kind=PoolerKind.PGPOOL)
    answer = staff.get(reverse("pooler-console", args=[pooler.pk]))
    assert answer.status_code == 200


def test_the_table_costs_the_same_with_one_and_three_pools(staff, console):
    pool = a_pool(name="orders")
    once = queries_of(staff, url_of(pool.pooler))
    a_pool(name="stranger", pooler=pool.pooler)
    assert queries_of(staff, url_of(pool.pooler)) == once
