"""An exception from a rule of the linter says why it is one."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WITHOUT_REASON = re.compile(r"# (?:noqa)(?!: [A-Z]+\d+(?:, [A-Z]+\d+)* \([^)]+\)$)")


def test_each_line_that_is_excepted_says_why() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [(name, line) for name in listed.stdout.split() for line in (ROOT / name).read_text().splitlines()]
    assert [f"{name}: {line.strip()}" for name, line in lines if WITHOUT_REASON.search(line)] == []


def test_each_rule_that_is_left_out_says_why() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    rules = tomllib.loads(text)["tool"]["ruff"]["lint"]["ignore"]
    explained = re.findall(r'(?m)^    "([A-Z]+\d+)",  # \w.+$', text)
    assert sorted(rules) == sorted(explained)


def test_each_rule_that_is_left_out_of_some_files_says_why() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    files = tomllib.loads(text)["tool"]["ruff"]["lint"]["per-file-ignores"]
    explained = re.findall(r'(?m)^# \w.+\n"([^"]+)" = \[', text)
    assert sorted(files) == sorted(explained)
