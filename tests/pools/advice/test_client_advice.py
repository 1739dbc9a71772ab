"""What clients have to change, by mode and release of the pooler."""

import pytest

from pools.advice import client_advice, client_limits
from pools.advice.client_advice import Situation
from pools.advice.client_limits import ClientLimits
from pools.models import Mode, PoolerKind, PoolerState
from pools.poolers import live_settings
from tests.pools.records import a_pooler

EVERYONE = 12
DEFAULTS = {(1, 24): 200}


def situation(mode: str, version: tuple[int, int], max_prepared: int | None = None, **limits: object) -> Situation:
    prepared = DEFAULTS.get(version, 0) if max_prepared is None else max_prepared
    return Situation(mode, ClientLimits(version, prepared, **limits))


def needed(mode: str, version: tuple[int, int], max_prepared: int | None = None) -> dict[str, str]:
    return {
        one.client: one.snippet for one in client_advice.advise(situation(mode, version, max_prepared)) if one.needed
    }


def test_session_mode_asks_nothing_of_a_client_that_can_connect() -> None:
    now = situation(Mode.SESSION, (1, 18), ignored=frozenset({"extra_float_digits"}))
    assert client_advice.advise(now) == []
    assert client_advice.general(now)[0].startswith("Statements can stay as they are")
    assert "JDBC, R2DBC and ODBC can connect: this pooler ignores" in client_advice.general(now)[2]


@pytest.mark.parametrize("mode", Mode.values)
def test_a_pooler_that_refuses_extra_float_digits_is_told_for_java_in_every_mode(mode: str) -> None:
    now = situation(mode, (1, 18), ignored=frozenset({"search_path"}))
    java = {one.client: one for one in client_advice.advise(now) if one.client in ("JDBC", "R2DBC")}
    for one in java.values():
        assert one.needed
        assert one.snippet.endswith("ignore_startup_parameters = search_path, extra_float_digits")
    assert len(java) == 2
    assert any("can't connect now" in sentence for sentence in client_advice.general(now))


@pytest.mark.parametrize("mode", Mode.values)
def test_a_pooler_that_ignores_them_or_is_silent_gets_no_order(mode: str) -> None:
    for ignored in (frozenset({"extra_float_digits"}), None):
        found = client_advice.advise(situation(mode, (1, 24), ignored=ignored))
        assert not [one for one in found if one.client == "JDBC" and one.needed]


@pytest.mark.parametrize(
    ("version", "ignored", "words"),
    [
        ((1, 18), frozenset(), "such as a search_path, is refused"),
        ((1, 24), frozenset(), "is refused unless the pooler keeps that parameter"),
        ((1, 18), frozenset({"options"}), "have no effect"),
        ((1, 26), frozenset({"options"}), "have no effect"),
    ],
)
def test_options_of_a_login_by_release_and_setting(
    version: tuple[int, int], ignored: frozenset[str], words: str
) -> None:
    for mode in Mode.values:
        assert words in " ".join(client_advice.general(situation(mode, version, ignored=ignored)))


@pytest.mark.parametrize("auth_type", ["any", "trust"])
def test_a_pooler_that_asks_nobody_for_a_password_is_named(auth_type: str) -> None:
    assert (
        f"auth_type is {auth_type}: it asks no client"
        in client_advice.general(situation(Mode.SESSION, (1, 24), auth_type=auth_type))[-1]
    )


def test_other_poolers_hand_the_parameters_of_a_login_on() -> None:
    found = client_advice.general(situation(Mode.SESSION, (4, 3), checks_startup=False))
    assert not [sentence for sentence in found if "JDBC" in sentence or "options" in sentence]


@pytest.mark.django_db
def test_limits_are_read_from_the_console_else_from_the_panels_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    pooler = a_pooler(server_version="PgBouncer 1.24.1", settings={"max_prepared_statements": 0})
    silent = client_limits.of(pooler)
    assert (silent.max_prepared, silent.ignored, silent.tracked) == (0, None, {"intervalstyle"})
    live = {"max_prepared_statements": "50", "ignore_startup_parameters": "a, B", "track_extra_parameters": ""}
    monkeypatch.setattr(live_settings, "read", lambda _: live | {"auth_type": "hba"})
    found = client_limits.of(pooler)
    assert (found.max_prepared, found.ignored, found.tracked, found.auth_type) == (50, {"a", "b"}, set(), "hba")
    pgpool = a_pooler(kind=PoolerKind.PGPOOL, server_version="4.3.5", state=PoolerState.ONLINE)
    assert not client_limits.of(pgpool).checks_startup


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
