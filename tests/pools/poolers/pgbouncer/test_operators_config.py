"""Reading all that a PgBouncer reads, and telling apart what is the operator's."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.config_files import pooler_files
from pools.models import Pooler
from pools.poolers.pgbouncer import operators_config
from pools.poolers.pgbouncer.operators_config import Line, Operators, Reading

OURS = {"pooldeck.ini": "[databases]\npool = host=x\n[users]\nu = pool_mode=session\n"}


def read(main: str, **files: str) -> Reading:
    """Read texts that lie nowhere; `one` names the file one.ini."""

    def load(path: str) -> str:
        try:
            return files[path.removesuffix(".ini")]
        except KeyError:
            raise FileNotFoundError(2, "No such file or directory", path) from None

    return operators_config.read(main, OURS, load)


def test_an_included_file_goes_on_in_the_section_and_may_leave_it() -> None:
    reading = read(
        "%include one.ini\n[databases]\n%include two.ini\nlast = host=c\n",
        one="[pgbouncer]\nlisten_port = 6432\n",
        two="second = host=b\n[users]\napp = pool_size=3\n",
    )
    assert reading.lines == [
        Line("pgbouncer", "listen_port", "6432", "one.ini", 2),
        Line("databases", "second", "host=b", "two.ini", 1),
        Line("users", "app", "pool_size=3", "two.ini", 3),
        Line("users", "last", "host=c", "pgbouncer.ini", 4),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[databases]\r\na = host=x\r\n",
        "[databases]a=host=x",
        " \t[databases]\n\ta\t=\thost=x \n",
        "; [users]\n#[users]\n[users]\n[databases]\n;b = host=y\na = host=w\n[pgbouncer]\n[databases]\na = host=x",
        "[databases]\n'a' = host=x\n",
    ],
)
def test_lines_are_read_as_pgbouncer_reads_them(text: str) -> None:
    assert read(text).values("databases") == {"a": "host=x"}


def test_the_panels_files_are_left_out_and_the_section_they_end_in_is_kept() -> None:
    reading = read("[databases]\nown = host=a\n%include /etc/pgbouncer/pooldeck.ini\nafter = pool_size=1\n")
    assert reading.values("databases") == {"own": "host=a"}
    assert reading.values("users") == {"after": "pool_size=1"}


LINES = (
    "a = host=x",
    "'b c' = dbname='d'",
    "  e\t=",
    "; %include no.ini",
    "#[no]",
    "",
    " \t",
    "[databases]",
    "[databases] f = g",
    "\t[users]\r",
    "%include h.ini",
    "no sign of equality",
    "'open = i",
    "[open",
    "%includes",
)


@given(st.lists(st.sampled_from(LINES)).map("\n".join), st.sampled_from(["", "\n", "\r\n"]))
def test_where_a_file_turns_is_found_without_a_look_at_each_of_its_entries(text: str, ending: str) -> None:
    text += ending

    def without_the_rest(tokens: Iterator[tuple[int, re.Match[str]]]) -> list[tuple[int, str, str]]:
        found = [(number, one["include"], one["section"]) for number, one in tokens]
        return [(number, path, section) for number, path, section in found if (path, section) != (None, None)]

    assert without_the_rest(operators_config._turns(text)) == without_the_rest(operators_config._tokens(text))


def test_a_header_sets_the_programs_settings_to_their_defaults() -> None:
    assert read("[pgbouncer]\na = 1\nb = 1\n[pgbouncer]\nb = 2\n").values("pgbouncer") == {"b": "2"}


def test_a_file_that_includes_itself_is_read_ten_times() -> None:
    reading = read("[databases]\n%include one.ini\n", one="a = host=x\n%include one.ini\n")
    assert len(reading.lines) == 10
    assert list(reading.unread) == ["one.ini"]


def test_a_file_that_is_not_there_is_named() -> None:
    assert read("%include gone.ini\n[databases]\na = host=x\n").unread == {"gone.ini": "No such file or directory"}


@pytest.mark.parametrize(
    ("path", "start", "found"),
    [
        ("/etc/pgbouncer/databases.ini", "", "/srv/config/databases.ini"),
        ("databases.ini", "", "/srv/config/databases.ini"),
        ("./x/../databases.ini", "/etc/pgbouncer", "/srv/config/databases.ini"),
    ],
)
def test_a_path_inside_the_folder_is_found_in_a_containers_too(path: str, start: str, found: str) -> None:
    assert operators_config.here(path, start, "/srv/config", "/etc/pgbouncer") == found


def test_a_path_outside_the_folder_is_not_looked_for_on_another_host() -> None:
    assert operators_config.here("/etc/other.ini", "", "/etc/pgbouncer", "/etc/pgbouncer") == "/etc/other.ini"
    assert operators_config.here("other.ini", "/etc", "/etc/pgbouncer", "/etc/pgbouncer") == "/etc/other.ini"
    with pytest.raises(OSError, match="file system of another host or container"):
        operators_config.here("other.ini", "/etc", "/srv/config", "/etc/pgbouncer")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is not a regular file"):
        pooler_files.text_at(Pooler(), str(tmp_path / "pipe"))


def shown(name: str, **other: object) -> dict[str, object]:
    """A row of SHOW DATABASES."""
    return {"name": name, "host": "h", "port": 5432, "database": name, "force_user": None} | other


@pytest.mark.parametrize(
    ("row", "claimed"),
    [
        (shown("auto"), False),
        (shown("auto", host=None), True),
        (shown("auto", database="another"), True),
        (shown("auto", force_user="app"), True),
        (shown("panels", host="elsewhere"), False),
    ],
)
def test_what_a_fallback_entry_made_is_nobodys_and_any_other_is_the_operators(
    row: dict[str, object], claimed: bool
) -> None:
    reading = read("[databases]\n* = host = h auth_user='look''er'\nown = host=x\n")
    operators = Operators(reading, {str(row["name"]): row}, {"panels"})
    assert bool(operators.claim_on(str(row["name"]))) == claimed
    assert operators.claim_on("own") == "pgbouncer.ini already has an entry own: give the pool another name"
    assert operators.entries["*"].pairs["auth_user"] == "look'er"


def test_a_port_that_is_no_number_makes_no_entry_automatic() -> None:
    operators = Operators(read("[databases]\n* = host=h port=54x32\n"), {"auto": shown("auto")}, ())
    assert operators.claim_on("auto").startswith("PgBouncer already serves an entry auto")


@pytest.mark.parametrize(
    ("main", "auth_user", "uses_auth_query"),
    [
        ("[databases]\na = host=x\n", "", False),
        ("[databases]\na = host=x\n", "looker", True),
        ("[databases]\na = host=x auth_user=looker\n", "", True),
        ("[databases]\n* = auth_user='looker'\n", "", True),
        ("%include gone.ini\n", "", True),
    ],
)
def test_look_ups_are_known_from_every_place(main: str, auth_user: str, uses_auth_query: bool) -> None:
    assert Operators(read(main), auth_user=auth_user).uses_auth_query == uses_auth_query


@pytest.mark.parametrize(
    ("text", "goes_on"),
    [
        ("max_client_conn = 1\n", True),
        ("%include two.ini\n", True),
        ("[databases]\n", False),
        ("%include three.ini\n", False),
        ("%include gone.ini\n", False),
    ],
)
def test_a_section_goes_on_below_a_file_that_never_leaves_it(text: str, goes_on: bool) -> None:
    reading = read("[pgbouncer]\n%include one.ini\n", one=text, two="# nothing\n", three="[pgbouncer]\n")
    assert reading.goes_on("one.ini") == goes_on


PANELS = "%include /etc/pgbouncer/pooldeck_settings.ini\n"


@pytest.mark.parametrize(
    ("main", "where"),
    [
        (f"[pgbouncer]\nuser = a\n{PANELS}", ""),
        (f"[pgbouncer]\n{PANELS}\n\nuser = a\n", "line 5 of pgbouncer.ini sets user to a after the panel's settings"),
        (f"[pgbouncer]\n{PANELS}%include /x/one.ini\n", "line 2 of one.ini sets user to b after the panel's settings"),
        (f"[pgbouncer]\n{PANELS}%include /x/two.ini\n", "line 3 of two.ini opens [pgbouncer] again after the panel's"),
    ],
)
def test_the_line_that_determines_a_setting_after_the_panels_is_named(main: str, where: str) -> None:
    texts = {"/x/one.ini": "; here\nuser = b\n", "/x/two.ini": "[databases]\n\n[pgbouncer]\n"}
    said = operators_config.read(main, {}, texts.__getitem__).set_again("user")
    assert said.startswith(where) if where else said == ""
