"""Variables of a run: numbers, and text that can't become SQL."""

import pytest

from benchmarks.engines.pgbench import variables
from benchmarks.engines.pgbench.options import validate
from benchmarks.errors import InvalidOptions


def words(protocol="simple", **given):
    return variables.arguments(validate({"protocol": protocol, "variables": given}))


def test_numbers_are_passed_as_numbers_and_negative_ones_never_follow_a_minus():
    assert words(n=5, share=0.25, less=-3, none=-0.0) == [
        *("-D", "n=5", "-D", "share=0.25", "-D", "less= -3", "-D", "none= -0.0"),
    ]


def test_text_is_a_literal_under_the_simple_protocol_and_a_value_under_the_others():
    assert words(city="Oslo") == ["-D", "city='Oslo'"]
    assert words("extended", city="O'Brien's \\ $$;--") == ["-D", "city=O'Brien's \\ $$;--"]
    assert words("prepared", city="Oslo") == ["-D", "city=Oslo"]


def test_no_variables_are_none():
    assert validate({"variables": {}})["variables"] is None
    assert words() == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("n=5", 'give names with numbers or text: {"rows": 10, "city": "Oslo"}'),
        ({"1n": 5}, "'1n' is not a name for a variable: use letters, digits and _, at most 63"),
        ({"a=b": 5}, "'a=b' is not a name for a variable: use letters, digits and _, at most 63"),
        ({"scale": 5}, "pgbench sets scale itself: choose another name"),
        ({"n": True}, "n is True: use a number, or text in quotes"),
        ({"n": None}, "n is None: use a number, or text in quotes"),
        ({"n": float("nan")}, "n is nan: use a number, or text in quotes"),
        ({"n": 2**63}, "n is 9223372036854775808: use a number of at most 9,223,372,036,854,775,807"),
        ({"n": "a\nb"}, "the text of n can't be passed: use at most 1,000 printable characters"),
        ({"n": "x" * 1001}, "the text of n can't be passed: use at most 1,000 printable characters"),
    ],
)
def test_what_is_neither_number_nor_text_is_refused(given, message):
    with pytest.raises(InvalidOptions) as refused:
        validate({"variables": given})
    assert refused.value.errors == {"variables": [message]}


@pytest.mark.parametrize("value", ["O'Brien", "a b", "a;b", "\\", "$$", '"', "a--b", "(1)", "x||y", "/*", "", "é"])
def test_the_simple_protocol_carries_a_word_alone(value):
    with pytest.raises(InvalidOptions) as refused:
        validate({"variables": {"v": value}})
    assert refused.value.errors == {
        "variables": [
            f"v is {value!r}, and the simple protocol carries only a word of letters, digits and _ . @ + : / - in a "
            "variable: use the extended or prepared protocol"
        ]
    }
    assert validate({"variables": {"v": value}, "protocol": "extended"})["variables"] == {"v": value}
