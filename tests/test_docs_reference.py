"""The parts of the reference that are read from the code: whole, and in words."""

import sys
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).resolve().parent.parent / "docs" / "_ext"
sys.path.append(str(EXTENSIONS))

from reference import PARTS, errors, states, tables  # noqa: E402 (beside the pages, and no package of the panel's)

from core.accounts.operations import registered  # noqa: E402 (as above)
from pools.models import EventKind  # noqa: E402 (as above)


@pytest.mark.parametrize("name", sorted(PARTS))
def test_each_part_has_something_to_say(name: str) -> None:
    assert len(PARTS[name]()) > 500


def test_signs_are_shown_and_code_stays_code() -> None:
    assert tables.plain("a_b * `c_d` <e>") == r"a\_b \* `c_d` \<e\>"


def test_a_cell_stays_in_its_column() -> None:
    assert tables.table(["a"], [["b | c\nd"]]).splitlines()[-1] == r"| b \| c d |"


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("%(port)s is not a port: enter a number", "*port* is not a port", "enter a number"),
        ("clients wait: each has its turn", None, None),
        ("%(a)s has %(number)d of b_c, so choose another", "*a* has *number* of b\\_c", "choose another"),
    ],
)
def test_an_error_is_parted_into_problem_and_remedy(text: str, problem: str | None, remedy: str | None) -> None:
    found = errors.REMEDY.match(text)
    shown = (errors._shown(found["problem"]), errors._shown(found["remedy"])) if found else (None, None)
    assert shown == (problem, remedy)


def test_every_state_is_explained_by_a_sentence() -> None:
    for choices in states.OF_RECORDS.values():
        assert [choice for choice in choices if " " not in states._meaning(choice)] == []


def test_every_kind_of_event_is_listed() -> None:
    assert [kind for kind in EventKind if f"| `{kind}` |" not in PARTS["events"]()] == []


def test_every_operation_is_listed_once_with_what_it_takes() -> None:
    rows = PARTS["operations"]().splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == [f"| `{operation.name}`" for operation in registered()]
    assert len(rows) > 80
    assert "| `pool.change` | Change pools | operator | `apply` |  |" in rows
    assert "| developer where `password_for_developers` is set |" in next(row for row in rows if "`pool.reveal`" in row)


def test_each_command_of_the_client_and_of_an_installation_is_there() -> None:
    commands = PARTS["client-commands"]() + PARTS["management-commands"]()
    for name in ("pooldeck login", "pooldeck run", "manage.py backup", "manage.py restore", "manage.py doctor"):
        assert f"### {name}\n" in commands
