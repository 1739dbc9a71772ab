"""Which entries a reload has to be without first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.poolers.pgbouncer import reload_hazards
from pools.poolers.pgbouncer.database_entries import Entry
from tests.pools.poolers.pgbouncer.test_database_entries import entry

NAMES, USERS = ("orders", "sales"), ("app", "report")


def known(name: str, user: str) -> Entry:
    return entry(name=name, user=user, password="secret" if user else "", auth_user="" if user else "looker")


entries = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(("", *USERS))).map(
    lambda found: [known(name, user) for name, user in found.items()]
)
forced = st.dictionaries(st.sampled_from(NAMES), st.sampled_from((None, *USERS)))
pools = st.lists(st.fixed_dictionaries({"database": st.sampled_from(NAMES), "user": st.sampled_from(USERS)}))


@given(st.sampled_from([(1, 18), (1, 24), (1, 25)]), entries, forced, pools, st.sets(st.sampled_from(USERS)))
def test_where_none_is_possible_none_is_found(
    version: tuple[int, int],
    wanted: list[Entry],
    forced: dict[object, object],
    pools: list[dict[str, object]],
    listed: set[str],
) -> None:
    found = reload_hazards.losing_their_user(forced, wanted) | reload_hazards.deadly(
        version, pools, forced, wanted, listed, USERS
    )
    assert reload_hazards.possible(version, wanted) or not found


@pytest.mark.parametrize(("user", "lost"), [("app", set()), ("report", set()), ("", {"orders"})])
def test_an_entry_that_shall_have_no_fixed_user_has_to_leave_first(user: str, lost: set[str]) -> None:
    assert reload_hazards.losing_their_user({"orders": "app"}, [known("orders", user)]) == lost


@pytest.mark.parametrize(("version", "dies"), [((1, 18), {"orders"}), ((1, 23), {"orders"}), ((1, 24), set())])
def test_a_user_with_a_pool_must_not_be_found_otherwise_before_1_24(version: tuple[int, int], dies: set[str]) -> None:
    rows = [{"database": "orders", "user": "app"}]
    assert reload_hazards.deadly(version, rows, {"orders": None}, [known("orders", "app")], set(), set()) == dies
