"""A name that is a class's name in snake case holds that class, by the types that mypy infers."""

import pytest

from tests.panel import names_by_type
from tests.panel.names_by_type import plural, snake_case

FEWEST_CLASSES = 500


@pytest.mark.timeout(900)
@pytest.mark.slow  # 40 s of one processor, with the cache that mypy left
def test_names_of_classes_hold_them() -> None:
    lies, classes = names_by_type.find()
    assert [str(lie) for lie in lies] == []
    assert classes > FEWEST_CLASSES


@pytest.mark.parametrize(
    ("name", "singular", "several"),
    [
        ("PoolSet", "pool_set", "pool_sets"),
        ("_HTTPLoad", "http_load", "http_loads"),
        ("Entry", "entry", "entries"),
        ("Status", "status", "statuses"),
    ],
)
def test_a_class_promises_its_name_and_the_plural(name: str, singular: str, several: str) -> None:
    assert (snake_case(name), plural(singular)) == (singular, several)


def test_a_name_that_holds_something_else_is_a_lie(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    module = tmp_path / "pools" / "probe.py"
    module.parent.mkdir()
    module.write_text(
        "from collections.abc import Iterable\n"
        "class PoolSet: ...\n"
        "def f(pool_set: PoolSet | None, pool_sets: Iterable[PoolSet], other: str) -> None:\n"
        "    for one in pool_sets:\n"
        "        pool_set = one\n"
        "def g(pool_set: str, pool_sets: int) -> None:\n"
        "    _pool_set = {'a': pool_set}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(names_by_type, "ROOT", tmp_path)
    monkeypatch.setattr(names_by_type, "APPS", ("pools",))
    monkeypatch.setattr(names_by_type, "OPTIONS", ["--config-file=", "--python-version=3.11"])
    found, _classes = names_by_type.find()
    assert [(lie.line, lie.scope + lie.name, lie.held) for lie in found] == [
        (6, "g.pool_set", "str"),
        (6, "g.pool_sets", "int"),
        (7, "g._pool_set", "dict[str, str]"),
    ]
