"""Which setting which release of PgBouncer takes."""

import pytest

from pools.poolers.pgbouncer import settings

V18, V24 = (1, 18), (1, 24)


@pytest.mark.parametrize(
    ("text", "version"), [("PgBouncer 1.18.0", V18), ("PgBouncer 1.24.1", V24), ("PgBouncer 2.0", (2, 0)), ("", V18)]
)
def test_the_version_is_read_from_what_the_console_says(text: str, version: tuple[int, int]) -> None:
    assert settings.version_of(text) == version


@pytest.mark.parametrize(
    ("name", "value", "version", "fault"),
    [
        ("min_pool_size", 0, V18, ""),
        ("load_balance_hosts", "disable", V24, ""),
        (
            "load_balance_hosts",
            "disable",
            V18,
            "setting load_balance_hosts came with PgBouncer 1.24, this is 1.18",
        ),
        ("min_pool_size", True, V18, "setting min_pool_size=True must be a whole number of at least 0"),
        ("min_pool_size", -1, V18, "setting min_pool_size=-1 must be a whole number of at least 0"),
        ("timezone", "", V18, "setting timezone is empty: give it a value or leave it out"),
    ],
)
def test_what_a_release_does_not_take_is_told(name: str, value: object, version: tuple[int, int], fault: str) -> None:
    assert settings.fault_of(name, value, version) == fault


def test_settings_that_would_undo_the_panels_own_are_not_offered() -> None:
    own = {"host", "port", "dbname", "user", "password", "auth_user", "pool_size", "pool_mode", "max_db_connections"}
    assert own.isdisjoint(settings.SINCE)
