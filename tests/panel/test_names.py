"""Names are terms of the field (docs/glossary.md): a class is a noun, and no name has a word that stands for no term.

That a name holds what it says is checked by types, see tests/panel/test_names_by_type.py.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ROOMS = ["core", "panel", "pools", "benchmarks"]
# Words that came back in several rooms, with the terms that say the same. No type shows that they are wrong.
TERMS = {
    "look looked looking looks": "read, query, check or find",
    "say says said tell tells telling told": "report, return, message or reason",
    "somebody whoever": "user, role, client or author",
    "way ways": "mode, method, delivery or route",
    "stand standing": "state or place",
    "wish wished wishes": "spec",
}
UNWANTED = {word: terms for words, terms in TERMS.items() for word in words.split()}
# names of the REST API, which stay until 1.0
CONTRACT = {"files_looked_at", "looked_at", "looked", "looks", "way", "wishes"}
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# `Found` or `Wanted` say nothing where they are imported; an exception is named after what happened.
_PARTICIPLE = re.compile(
    r"_?(?:[A-Z][a-z]*(?<!e)ed|Found|Given|Held|Kept|Known|Made|Own|Read|Said|Sent|Shown|Taken|Told)"
)


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what the code names itself, with the line: definitions, arguments and what is assigned to."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def unwanted_in(name: str) -> set[str]:
    """Return the words of a name that stand for no term."""
    return set() if name in CONTRACT else {part.lower() for part in _PART.findall(name)} & UNWANTED.keys()


@cache
def modules(room: str) -> list[Path]:
    return [path for path in (ROOT / room).rglob("*.py") if "migrations" not in path.parts]


def class_bases(room: str) -> Iterator[tuple[str, str, set[str]]]:
    """Yield each class of a room: its place, its name, and the last parts of its bases' names."""
    for path in modules(room):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.name, bases


def exceptions(classes: list[tuple[str, str, set[str]]]) -> set[str]:
    """Return the names of classes that derive from an exception."""
    raised = {"Exception", "BaseException"}
    while more := {name for _, name, bases in classes if bases & raised} - raised:
        raised |= more
    return raised


@pytest.mark.parametrize("room", ROOMS)
def test_modules_are_named_by_terms_of_the_field(room: str) -> None:
    assert [
        str(path.relative_to(ROOT)) for path in modules(room) if unwanted_in(path.stem) or unwanted_in(path.parent.name)
    ] == []


@pytest.mark.parametrize("room", ROOMS)
def test_identifiers_are_terms_of_the_field(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}: use {', or '.join(sorted(UNWANTED[word] for word in words))}"
        for path in modules(room)
        for line, name in identifiers(ast.parse(path.read_text()))
        if (words := unwanted_in(name))
    ]
    assert found == []


def test_a_class_is_named_by_a_noun() -> None:
    classes = [one for room in ROOMS for one in class_bases(room)]
    raised = exceptions(classes)
    assert {"PoolsError", "Cancelled"} <= raised
    assert [f"{place} {name}" for place, name, _ in classes if name not in raised and _PARTICIPLE.fullmatch(name)] == []


@pytest.mark.parametrize(
    ("name", "is_participle"),
    [("Found", True), ("_Masked", True), ("Unmeasured", True), ("FoundPooler", False), ("Finding", False)],
)
def test_a_participle_is_known(name: str, is_participle: bool) -> None:
    assert bool(_PARTICIPLE.fullmatch(name)) == is_participle
