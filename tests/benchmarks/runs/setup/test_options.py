"""The panel's own options: typed, refused by name, and absent where they change nothing."""

import pytest

from benchmarks.errors import InvalidOptions
from benchmarks.runs.setup.options import validate


def test_nothing_said_is_nothing_kept():
    assert validate({}) == {}
    assert (
        validate(
            {
                "idle_connections": "0",
                "idle_at": "endpoint",
                "idle_reads": "nothing",
                "vacuum": False,
                "settings_profile": "",
            }
        )
        == {}
    )


def test_all_of_them_typed():
    typed = {
        "idle_connections": "1000",
        "idle_at": "cluster",
        "idle_reads": "nothing",
        "settings_profile": "tuned",
        "vacuum": "on",
    }
    assert validate(typed | {"checkpoint": True, "warm_up": "30"}) == {
        "idle_connections": 1000,
        "idle_at": "cluster",
        "idle_reads": "nothing",
        "settings_profile": "tuned",
        "vacuum": True,
        "checkpoint": True,
        "warm_up": 30,
    }


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("idle_connections", "10001", "10,001 is out of range: use 0 to 10,000"),
        ("idle_at", "elsewhere", "'elsewhere' is not a choice of “Idle connections to”: use one of endpoint, cluster"),
        ("warm_up", 0, "0 is out of range: use 1 to 3,600 s"),
        ("settings_profile", "  ", "the name is blank: choose a profile or leave it out"),
        ("settings_profile", 7, "7 is not a text: use at most 200 characters, without NUL"),
    ],
)
def test_what_is_wrong_is_named(name, value, message):
    with pytest.raises(InvalidOptions) as caught:
        validate({name: value})
    assert caught.value.errors == {name: [message]}
