"""The files of a PgBouncer, as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.poolers.pgbouncer import render
from tests.pools.poolers.pgbouncer.test_database_entries import entry

OPERATORS = '; by hand\n"pooldeck" "SCRAM-SHA-256$4096:x$y:z"\n"someone" "pw"'


def test_the_panels_file_holds_its_entries_by_name() -> None:
    text = render.databases([entry(name="b"), entry(name="a")], {})
    lines = text.splitlines()
    assert lines[1] == "[databases]"
    assert [line.split(" = ")[0] for line in lines[3::2]] == ["a", "b"]
    assert text.endswith("\n")


def test_without_pools_the_file_is_still_sound() -> None:
    assert render.databases([], {}) == render.HEAD + "[databases]\n"


def test_the_operators_users_stay_above_the_mark() -> None:
    text = render.userlist(OPERATORS, {"app": 'p"w1'})
    assert text == f'{OPERATORS}\n{render.MARK}"app" "p""w1"\n'
    assert render.kept_part(text) == OPERATORS + "\n"
    assert render.userlist(render.kept_part(text), {"app": 'p"w1'}) == text


def test_a_byte_order_mark_that_would_break_the_file_is_dropped() -> None:
    assert render.kept_part("\ufeff" + OPERATORS) == OPERATORS


words = st.text(st.characters(exclude_characters="\0\r\n\ufeff", exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(words, words))
def test_users_are_read_back_as_written(secrets: dict[str, str]) -> None:
    text = render.userlist("", secrets)
    assert render.users(text) == secrets
    assert render.broken_line(text) == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (OPERATORS, 0),
        ("", 0),
        ('"a" "b"\n\n  ; c\n', 0),
        ('"a" "b"\n"torn', 2),
        ('"a" "b\n"c" "d"\n', 1),
        ("app password\n", 1),
    ],
)
def test_the_line_is_named_where_pgbouncer_would_stop_reading(text: str, line: int) -> None:
    assert render.broken_line(text) == line


MAIN = "[databases]\n; x\nmine = host=h\n* = host=f\n[users]\nu = pool_mode=session\n[pgbouncer]\nlisten_port = 6432\n"


def test_the_include_goes_to_the_end_once() -> None:
    once = render.with_include(MAIN, "/etc/pgbouncer")
    assert once == MAIN.rstrip() + "\n\n; pools made in Pooldeck\n%include /etc/pgbouncer/pooldeck.ini\n"
    assert render.with_include(once, "/elsewhere") == once


def test_a_commented_include_is_none() -> None:
    assert render.with_include(MAIN + ";%include /x/pooldeck.ini\n", "/x").endswith("\n%include /x/pooldeck.ini\n")


def test_users_of_removed_pools_stand_last_and_are_no_part_that_is_compared() -> None:
    text = render.userlist('"mine" "x"\n', {"app": "y"}, {"gone": "z"})
    assert render.users(text) == {"mine": "x", "app": "y", "gone": "z"}
    assert render.ours("userlist.txt", text) == '"app" "y"\n'
    assert render.without_unknown(text, ["gone"]) == text
    assert render.without_unknown(text, ["app"]) == render.userlist('"mine" "x"\n', {"app": "y"})
    assert render.kept_part(render.with_kept('"mine" "x"', {"gone": "z"})) == '"mine" "x"\n'


def test_masking_leaves_no_secret_behind() -> None:
    texts = {
        "userlist.txt": render.userlist(OPERATORS, {'a"b': 's3cret"1', "b": "s3cret2"}),
        "pooldeck.ini": render.databases([entry(password="s3cret ' 3; x")], {}),
        "pgbouncer.ini": "x = host=h password=s3cret;4 port=1\ny = password = 's3cret '' 5' user=u\n",
    }
    shown = render.masked(texts)
    assert "s3cret" not in "".join(shown.values())
    assert "SCRAM" not in "".join(shown.values())
    assert '"a""b" "••••"' in shown["userlist.txt"]
    assert shown["pgbouncer.ini"] == "x = host=h password=•••• port=1\ny = password = •••• user=u\n"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("PassWord = 's3''cret' x", "PassWord = •••• x"),
        ("server_PASSWD=s3cret", "server_PASSWD=••••"),
        ("no_password=shown", "no_password=shown"),
        ("passwd_file=shown", "passwd_file=shown"),
        ('password="s3cret', "password=••••"),
    ],
)
def test_what_is_named_like_a_password_is_masked(line: str, shown: str) -> None:
    assert render.masked({"pgbouncer.ini": f"a = b\n{line}\n"}) == {"pgbouncer.ini": f"a = b\n{shown}\n"}


def test_masking_trusts_no_broken_line() -> None:
    texts = {
        "userlist.txt": '; "old" "s3cret"\n"torn" "s3cret\n"app" "x" s3cret\n; plain words\n',
        "pgbouncer.ini": "x = password='s3cret s3cret\nport=1\n",
    }
    assert render.masked(texts) == {
        "userlist.txt": '••••\n••••\n"app" "••••"\n; plain words\n',
        "pgbouncer.ini": "x = password=••••\nport=1\n",
    }


def test_only_the_panels_part_tells_drift() -> None:
    text = render.userlist(OPERATORS, {"app": "pw"})
    assert render.ours("userlist.txt", text) == '"app" "pw"\n'
    assert render.ours("pooldeck.ini", "x") == "x"
    assert render.ours("pgbouncer.ini", "x") == ""
