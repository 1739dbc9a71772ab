"""What clients have to change, by mode and release of the pooler."""

import pytest

from pools.advice import client_advice
from pools.advice.client_advice import situation
from pools.models import Mode

EVERYONE = 12


def needed(mode: str, version: tuple[int, int], max_prepared: int | None = None) -> dict[str, str]:
    return {
        one.client: one.snippet for one in client_advice.advise(situation(mode, version, max_prepared)) if one.needed
    }


def test_session_mode_asks_nothing_of_a_client() -> None:
    now = situation(Mode.SESSION, (1, 18), None)
    assert client_advice.advise(now) == []
    assert client_advice.general(now)[0].startswith("Nothing has to change")


def test_before_1_21_every_driver_that_prepares_is_told_how_not_to() -> None:
    found = needed(Mode.TRANSACTION, (1, 18))
    assert found["psycopg"] == "psycopg.connect(…, prepare_threshold=None)"
    assert found["JDBC"] == "jdbc:postgresql://…?prepareThreshold=0"
    assert found["Rails"] == "prepared_statements: false\nadvisory_locks: false"
    assert "pgbouncer=true" in found["Prisma"]
    assert {"asyncpg", "Go pgx", "R2DBC", "pgbench"} < set(found)


def test_a_pooler_that_keeps_them_leaves_little_to_do() -> None:
    found = needed(Mode.TRANSACTION, (1, 24))
    assert set(found) == {"Django", "SQLAlchemy", "Rails", "Prisma", ".NET (Npgsql)"}
    assert found["Rails"] == "advisory_locks: false"
    assert "pgbouncer=true" not in found["Prisma"]


@pytest.mark.parametrize(
    ("version", "max_prepared", "kept"),
    [((1, 18), None, False), ((1, 21), None, False), ((1, 21), 100, True), ((1, 24), None, True), ((1, 24), 0, False)],
)
def test_whether_they_are_kept(version: tuple[int, int], max_prepared: int | None, kept: bool) -> None:
    assert situation(Mode.TRANSACTION, version, max_prepared).keeps_prepared is kept


def test_psycopg_needs_the_close_message_of_1_22() -> None:
    assert "psycopg" in needed(Mode.TRANSACTION, (1, 21), 100)
    assert "psycopg" not in needed(Mode.TRANSACTION, (1, 22), 100)


def test_statement_mode_asks_for_autocommit() -> None:
    found = needed(Mode.STATEMENT, (1, 24))
    assert found["psycopg"].endswith("autocommit=True)")
    assert "AUTOCOMMIT" in found["SQLAlchemy"]
    assert client_advice.general(situation(Mode.STATEMENT, (1, 24), None))[0].startswith("Every statement commits")


def test_every_client_is_there_in_every_shared_mode() -> None:
    for mode in (Mode.TRANSACTION, Mode.STATEMENT):
        assert len(client_advice.advise(situation(mode, (1, 18), None))) == EVERYONE
