"""Each fault and attack of faults_and_attacks.toml has tests, and those that it names are there."""

import ast
import tomllib
from functools import cache
from typing import Any

import pytest

from tests.installation import ROOT

CASES: list[dict[str, Any]] = tomllib.loads((ROOT / "tests/faults_and_attacks.toml").read_text())["case"]


@cache
def functions_of(path: str) -> frozenset[str]:
    """The functions that pytest collects from a file; none where there is no such file."""
    file = ROOT / path
    if not file.is_file() or not file.name.startswith("test_"):
        return frozenset()
    functions = [
        node for node in ast.parse(file.read_text()).body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return frozenset(one.name for one in functions if one.name.startswith("test_"))


def is_there(test: str) -> bool:
    path, _, name = test.partition("::")
    return name in functions_of(path)


@pytest.mark.parametrize("case", CASES, ids=[str(case["number"]) for case in CASES])
def test_its_tests_are_there(case: dict[str, Any]) -> None:
    assert min(len(case[name]) for name in ("what", "must", "tests")) > 0
    assert [test for test in case["tests"] if not is_there(test)] == []


def test_there_are_43_and_none_twice() -> None:
    assert [case["number"] for case in CASES] == list(range(1, 44))
    assert len({case["what"] for case in CASES}) == len(CASES)


def test_a_test_that_is_gone_is_found() -> None:
    here = "tests/test_faults_and_attacks.py"
    assert is_there(f"{here}::test_a_test_that_is_gone_is_found")
    assert not is_there(f"{here}::test_that_nobody_wrote")
    assert not is_there("tests/test_no_such_file.py::test_anything")
