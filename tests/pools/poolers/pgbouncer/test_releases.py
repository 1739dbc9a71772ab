"""Which release of PgBouncer a text names, and what it calls a setting of a pool."""

import pytest

from pools.poolers.pgbouncer import releases

V18, V24 = (1, 18), (1, 24)


@pytest.mark.parametrize(
    ("text", "version"), [("PgBouncer 1.18.0", V18), ("PgBouncer 1.24.1", V24), ("PgBouncer 2.0", (2, 0)), ("", V18)]
)
def test_the_version_is_read_from_what_the_console_says(text: str, version: tuple[int, int]) -> None:
    assert releases.version_of(text) == version


def test_a_renamed_setting_is_called_as_the_release_knows_it() -> None:
    assert [releases.key_in("reserve_pool", version) for version in (V18, V24)] == ["reserve_pool", "reserve_pool_size"]
    assert releases.key_in("timezone", V24) == "timezone"
