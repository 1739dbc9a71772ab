"""Asking consoles for any word, once a second for all who watch."""

import time

import pytest

from pools.console import show_cache
from pools.console.show_cache import ShowResult
from pools.errors import ConsoleRefused, PoolerUnreachable
from pools.models import PoolerKind
from pools.monitoring import sampler
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers.pgbouncer.driver import PgBouncer
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db
CLIENTS = [{"user": "app"}]


@pytest.fixture
def asked(monkeypatch):
    """The words that consoles were asked for; the shared look has the pools."""
    show_cache._answers.clear()
    words = []

    def answer(self, pooler, word):
        words.append(word)
        if word == "servers":
            raise PoolerUnreachable("the pooler's console hung up")
        if word == "mem":
            raise ConsoleRefused("SHOW mem was refused: invalid command")
        return CLIENTS

    monkeypatch.setattr(PgBouncer, "show", answer)
    monkeypatch.setattr(sampler, "latest", lambda pooler: ConsoleSnapshot(rows={"pools": [{"database": "web"}]}))
    return words


def test_many_watchers_cost_one_question_a_second(asked, monkeypatch):
    pooler = a_pooler()
    assert [show_cache.rows(pooler, "clients") for _ in range(3)] == [ShowResult(CLIENTS)] * 3
    assert asked == ["clients"]
    monkeypatch.setattr(show_cache, "FRESH_S", 0.0)
    show_cache.rows(pooler, "clients")
    assert asked == ["clients", "clients"]


def test_an_edited_pooler_is_asked_anew(asked):
    pooler = a_pooler()
    show_cache.rows(pooler, "clients")
    show_cache.rows(pooler.edit(None, port=2), "clients")
    assert asked == ["clients", "clients"]


def test_what_all_watchers_share_is_not_asked_again(asked):
    assert show_cache.rows(a_pooler(), "pools") == ShowResult([{"database": "web"}])
    assert asked == []


def test_reasons_take_the_place_of_rows(asked, monkeypatch):
    pooler = a_pooler()
    assert show_cache.rows(pooler, "servers") == ShowResult(error="the pooler's console hung up")
    assert show_cache.rows(pooler, "mem") == ShowResult(error="SHOW mem was refused: invalid command")
    monkeypatch.setattr(sampler, "latest", lambda pooler: ConsoleSnapshot(error="it is down"))
    assert show_cache.rows(pooler, "pools") == ShowResult(error="it is down")


def test_rows_that_nobody_watches_any_more_are_forgotten(asked, monkeypatch):
    old, new = a_pooler(), a_pooler()
    show_cache.rows(old, "clients")
    show_cache._answers[old.pk, "clients"].asked_at = time.monotonic() - 61
    show_cache.rows(new, "clients")
    assert list(show_cache._answers) == [(new.pk, "clients")]


def test_a_pool_of_a_pooler_that_was_not_reached_is_in_no_known_condition(asked):
    assert show_cache.condition(a_pool()) is None
    assert show_cache.condition(a_pool(pooler=a_pooler(kind=PoolerKind.PGPOOL))) is None
