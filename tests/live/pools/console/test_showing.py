"""Every word that is offered for a release is answered by it, with columns the panel can explain."""

import pytest
from psycopg.pq import ConnStatus, PGconn

from pools.console import show_cache, tables
from pools.models import Pooler
from pools.poolers import KINDS
from tests.live.pools.console.conftest import Client

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_offered_word_is_answered(pooler: Pooler) -> None:
    words = KINDS[pooler.kind].words_of(pooler)
    assert {"pools", "clients", "servers", "databases"} <= set(words)
    assert {word: show_cache.rows(pooler, word).error for word in words} == dict.fromkeys(words, "")


def test_every_column_is_explained(pooler: Pooler, client: Client) -> None:
    client().execute("SELECT 1")
    kind, unexplained = KINDS[pooler.kind], []
    for word in kind.words_of(pooler):
        heads = tables.heads(show_cache.rows(pooler, word).rows, kind.columns, "")
        unexplained += [f"{word}.{head.name}" for head in heads if not head.column.meaning]
    assert unexplained == []


def test_a_word_the_release_does_not_know_says_so(pooler: Pooler) -> None:
    kind = KINDS[pooler.kind]
    for word in set(kind.words) - set(kind.words_of(pooler)):
        assert f"SHOW {word} was refused: invalid command" in show_cache.rows(pooler, word).error


def test_a_client_that_calls_itself_what_is_no_text_hides_no_others(pooler: Pooler, client: Client) -> None:
    client(name="shop")
    login = f"host={pooler.host} port={pooler.port} dbname=orders user=app password=app-password"
    odd = PGconn.connect(f"{login} application_name=".encode() + b"caf\xe9")
    assert odd.status == ConnStatus.OK, odd.error_message
    names = {row["application_name"] for row in show_cache.rows(pooler, "clients").rows}
    odd.finish()
    assert {"shop", "caf\N{REPLACEMENT CHARACTER}"} <= names
