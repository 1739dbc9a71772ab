"""What breaks in a pool mode, told from the text of statements."""

import pytest

from pools.advice import session_features
from pools.advice.client_limits import ClientLimits
from pools.advice.session_features import Statement
from pools.models import Mode

BROKEN = {
    "SET search_path TO orders": "SET",
    "set session statement_timeout = 5000": "SET",
    "/* a comment */ SET work_mem = '64MB'": "SET",
    "SELECT 1; SET work_mem = '64MB'": "SET",
    "SET ROLE reporting": "SET ROLE",
    "SET SESSION AUTHORIZATION bob": "SET ROLE",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY": "SET ROLE",
    "SELECT set_config($1, $2, $3)": "set_config()",
    "LISTEN jobs": "LISTEN",
    "PREPARE find (int) AS SELECT $1": "PREPARE in SQL",
    "EXECUTE find(1)": "PREPARE in SQL",
    "DEALLOCATE find": "PREPARE in SQL",
    "SELECT pg_advisory_lock($1)": "session advisory lock",
    "SELECT pg_try_advisory_lock_shared($1, $2)": "session advisory lock",
    "SELECT pg_advisory_unlock(7)": "session advisory lock",
    "CREATE TEMP TABLE basket (id int)": "temporary table",
    "create local temporary table basket as select 1": "temporary table",
    "SELECT * INTO TEMP basket FROM orders": "temporary table",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1": "WITH HOLD cursor",
    "LOAD 'auto_explain'": "LOAD",
    "SELECT currval($1)": "currval() or lastval()",
}
KEPT = [
    "SET LOCAL work_mem = '64MB'",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET CONSTRAINTS ALL DEFERRED",
    "SET client_encoding TO 'UTF8'",
    "SET TIME ZONE 'UTC'",
    "SET SESSION timezone = 'UTC'",
    "SET application_name = 'shop'",
    "SET NAMES 'utf8'",
    "SELECT 'LISTEN jobs; SET work_mem = 1'",
    "SELECT $$ ; LISTEN jobs $$",
    "UPDATE settings SET value = 1",
    'SELECT "pg_advisory_lock(" FROM t',
    "SELECT pg_advisory_xact_lock($1)",
    "SELECT pg_try_advisory_xact_lock_shared($1)",
    "CREATE TEMP TABLE basket (id int) ON COMMIT DROP",
    "DECLARE c CURSOR FOR SELECT 1",
    "PREPARE TRANSACTION 'two-phase'",
    "DEALLOCATE ALL",
    "NOTIFY jobs",
    "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;",  # asyncpg, at each release
    "DISCARD ALL",  # Npgsql and PgBouncer itself
    "UNLISTEN *",
    "BEGIN",
]


@pytest.mark.parametrize("text", BROKEN)
def test_what_outlives_a_transaction_is_found(text: str) -> None:
    for mode in (Mode.TRANSACTION, Mode.STATEMENT):
        assert [finding.habit.name for finding in session_features.find([Statement(text)], mode)] == [BROKEN[text]]


@pytest.mark.parametrize("text", KEPT)
def test_what_a_transaction_keeps_to_itself_is_not(text: str) -> None:
    assert session_features.find([Statement(text)], Mode.TRANSACTION) == []


@pytest.mark.parametrize("text", BROKEN)
def test_session_mode_breaks_nothing(text: str) -> None:
    assert session_features.find([Statement(text)], Mode.SESSION) == []


@pytest.mark.parametrize(
    "text", ["BEGIN", "start transaction", "COMMIT", "SAVEPOINT a", "DECLARE c CURSOR FOR SELECT 1"]
)
def test_statement_mode_has_no_transactions(text: str) -> None:
    [finding] = session_features.find([Statement(text)], Mode.STATEMENT)
    assert finding.habit.name == "transaction of several statements"


def test_a_finding_counts_its_statements_and_shows_the_most_called() -> None:
    statements = [
        Statement("LISTEN a", 2, "pg_stat_statements"),
        Statement("LISTEN\n  b", 40, "pg_stat_statements"),
        Statement("LISTEN b", 0, "pg_stat_activity"),
        Statement("SET work_mem = '1GB'", 900, "pg_stat_statements"),
    ]
    first, second = session_features.find(statements, Mode.TRANSACTION)
    assert (first.habit.name, first.calls) == ("SET", 900)
    assert (second.habit.name, second.statements, second.calls, second.sample) == ("LISTEN", 3, 42, "LISTEN b")
    assert second.sources == ("pg_stat_activity", "pg_stat_statements")


@pytest.mark.parametrize(
    ("version", "max_prepared", "words"),
    [
        ((1, 18), 0, "break before PgBouncer 1.21, and this is 1.18"),
        ((1, 22), 0, "break while max_prepared_statements is 0"),
        ((1, 22), 100, "are kept"),
    ],
)
def test_prepared_statements_depend_on_the_release(version: tuple[int, int], max_prepared: int, words: str) -> None:
    assert words in session_features.of_prepared_statements(ClientLimits(version, max_prepared))


@pytest.mark.parametrize(
    ("version", "tracked", "reported", "kept"),
    [
        ((1, 18), (), ("intervalstyle",), ()),
        ((1, 24), ("intervalstyle",), ("intervalstyle", "search_path"), ("intervalstyle",)),
        ((1, 24), ("intervalstyle", "search_path"), ("intervalstyle",), ("intervalstyle",)),
        ((1, 26), (), ("intervalstyle", "search_path"), ("intervalstyle", "search_path")),
    ],
)
def test_a_set_that_the_pooler_keeps_for_each_client_is_no_finding(
    version: tuple[int, int], tracked: tuple[str, ...], reported: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    limits = ClientLimits(version, tracked=frozenset(tracked))
    for name in ("IntervalStyle", "search_path", "work_mem"):
        found = session_features.find(
            [Statement(f"SET {name} = 'x'"), Statement(f"SET SESSION {name.upper()} TO x")],
            Mode.TRANSACTION,
            lambda one: limits.keeps(one, reported=one in reported),
        )
        assert bool(found) is (name.lower() not in kept)
