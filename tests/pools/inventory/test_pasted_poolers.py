"""A pasted list of poolers, without any console; with some: tests/live/pools/poolers/pgbouncer/test_watched.py."""

import pytest

from pools.errors import InvalidValues
from pools.inventory import pasted_poolers, poolers
from pools.inventory.pasted_poolers import Line, Outcome
from pools.inventory.poolers import PoolerCheck
from pools.models import Pooler
from tests.pools.records import a_pooler

LOGIN = {"admin_user": "stats", "admin_password": "secret"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("db1", Line(1, "db1", "db1", 6432)),
        (" db1:6433 ", Line(1, "db1:6433", "db1", 6433)),
        ("[::1]:6433", Line(1, "[::1]:6433", "::1", 6433)),
        ("2001:db8::1", Line(1, "2001:db8::1", "2001:db8::1", 6432)),
        ("/run/pgbouncer:6433", Line(1, "/run/pgbouncer:6433", "/run/pgbouncer", 6433)),
        ("db1:x", Line(1, "db1:x", "db1", 6432, problem="x is not a port: enter a number from 1 to 65535")),
        (
            "postgresql://me:geheim@db1:6433/pgbouncer",
            Line(1, "postgresql://me:••••@db1:6433/pgbouncer", "db1", 6433, "me", "geheim"),
        ),
        (
            "http://db1",
            Line(1, "http://db1", "db1", 6432, problem="it begins with postgresql://, or is host or host:port"),
        ),
    ],
)
def test_a_line_is_a_host_with_a_port_or_a_uri(text: str, line: Line) -> None:
    assert pasted_poolers.read(text) == [line]


def test_comments_and_empty_lines_keep_the_numbers_of_the_others() -> None:
    assert [(line.number, line.host) for line in pasted_poolers.read("# tier\n\ndb1\r\ndb2\n")] == [
        (3, "db1"),
        (4, "db2"),
    ]


@pytest.mark.parametrize("text", ["", "# none\n", "db1\n" * 201])
def test_a_list_without_lines_or_with_too_many_is_refused(text: str) -> None:
    with pytest.raises(InvalidValues):
        pasted_poolers.read(text)


@pytest.mark.django_db
def test_lines_that_do_not_answer_are_not_registered_and_known_ones_stay() -> None:
    known = a_pooler(host="127.0.0.1", port=2)
    lines = pasted_poolers.read("127.0.0.1:1\n127.0.0.1:2\n127.0.0.1:0\nbad host\n")
    outcomes = list(pasted_poolers.watch(lines, LOGIN))
    assert [outcome.state for outcome in outcomes] == ["failed", "known", "failed", "failed"]
    assert outcomes[1].pooler == known
    assert all(outcome.error for outcome in outcomes if outcome.state == "failed")
    assert Pooler.objects.count() == 1


@pytest.mark.django_db
def test_a_name_that_another_pooler_has_gets_the_port() -> None:
    a_pooler(name="db1", host="elsewhere")
    assert pasted_poolers._free_name(Line(1, "db1", "db1", 6433)) == "db1-6433"
    assert pasted_poolers._free_name(Line(1, "", "/run/pgbouncer", 6432)) == "run-pgbouncer"


def test_no_outcome_shows_a_password() -> None:
    assert "geheim" not in repr(Outcome(Line(1, "x", password="geheim")))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("port", "state", "name"),
    [(6432, "watched", "db1-6433"), (6433, "known", "db1")],  # of another port, and the same line once more
)
def test_a_line_whose_name_another_one_takes_at_that_moment(
    port: int, state: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_name, lines = pasted_poolers._free_name, pasted_poolers.read("db1:6433")

    def late(line: Line) -> str:
        chosen = free_name(line)
        if chosen == "db1" and drafted:
            a_pooler(name="db1", host="db1", port=port)
        drafted.append(line)
        return chosen

    drafted: list[Line] = []
    monkeypatch.setattr(pasted_poolers, "_free_name", late)
    monkeypatch.setattr(poolers, "inspect_all", lambda new: [PoolerCheck("PgBouncer 1.24.1") for _one in new])
    (outcome,) = pasted_poolers.watch(lines, LOGIN)
    assert (outcome.error, outcome.state, outcome.pooler and outcome.pooler.name) == ("", state, name)
