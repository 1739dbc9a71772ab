"""The files of a Pgpool-II: written, read back, and masked."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.poolers.pgpool import hba_access, render
from pools.poolers.pgpool.hba_access import Access

WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), min_size=1
)


@given(st.dictionaries(WORDS.filter(lambda user: not user.startswith("#")), WORDS, max_size=5))
def test_users_and_passwords_are_read_back(secrets: dict[str, str]) -> None:
    assert render.users_in(render.passwords(secrets)) == secrets


@given(st.lists(st.tuples(WORDS, WORDS | st.just("")), max_size=4))
def test_rules_are_read_back(pairs: list[tuple[str, str]]) -> None:
    sound = [pair for pair in pairs if not any(hba_access.name_problem(name) for name in pair if name)]
    rules = [Access(uuid4(), database, user) for database, user in sound]
    assert {one.pool: one for one in hba_access.read(render.admissions(rules, "postgres"))} == {
        one.pool: one for one in rules
    }


def test_the_operators_part_is_kept_and_the_panels_replaced() -> None:
    first = render.file("port = 9999", "a = 1\n")
    assert render.file(render.kept(first), "b = 2\n") == f"port = 9999\n{render.MARK}b = 2\n"


def test_the_later_of_two_equal_settings_counts() -> None:
    assert render.values_in("a = 1\na = 'x y' # why\n  b 2\n#c = 3\n") == {"a": "x y", "b": "2"}


def test_what_only_brings_settings_back_is_no_lasting_part() -> None:
    text = render.file("", "a = 1\n" + render.restoring_settings({"b": "5min"}))
    assert render.lasting(text) == "a = 1\n"
    assert render.values_in(render.ours(text)) == {"a": "1", "b": "5min"}


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("pool_passwd", "app:TEXTsecret\na\\:b:AESxyz\n", "app:••••\na\\:b:••••\n"),
        ("pcp.conf", "postgres:5f4dcc\n", "postgres:••••\n"),
        ("pgpool.conf", "sr_check_password = 'x'\nport = 1\n", "sr_check_password = ••••\nport = 1\n"),
        ("pooldeck_ssl_key.pem", "-----BEGIN", "••••"),
    ],
)
def test_secrets_are_dots(name: str, text: str, shown: str) -> None:
    assert render.masked({name: text}) == {name: shown}


@pytest.mark.parametrize(
    ("password", "sound"),
    [("plain", True), ("päß:w\\ord'\"", True), ("\u00b8", False), ("a\u00adb", False), ("p" * 125, False), ("", True)],
)
def test_passwords_that_pool_passwd_or_scram_would_change_are_refused(password: str, sound: bool) -> None:
    assert (hba_access.password_problem(password) == "") is sound
