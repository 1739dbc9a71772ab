"""Identifiers are terms of the field (docs/glossary.md): words that nobody would search for must not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NOT_TERMS = """
catching choosing clash collecting crew crews desk door doors ear exposition glance guarding handmade hear heard
holdings idler idlers judging keeper keepers keeping knock lacking look looked looking looks meanwhile mouth outlook
outlooks overlays packing parting peek rehearsal said say says showing sight sights somebody stand standing story
surroundings tally tell telling tells throwaway told twin twins voice way ways whoever wish wished wishes witness
witnesses wording
"""
# names of the REST API, which stay until 1.0
CONTRACT = {"files_looked_at", "meanwhile", "looked_at", "looked", "looks", "way", "wishes"}
_UNWANTED = set(NOT_TERMS.split())
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what the code names itself, with the line: definitions, arguments and what is assigned to."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def has_unwanted(name: str) -> bool:
    return name not in CONTRACT and bool({part.lower() for part in _PART.findall(name)} & _UNWANTED)


@pytest.mark.parametrize("room", ["core", "panel", "pools", "benchmarks"])
def test_modules_are_named_by_terms_of_the_field(room: str) -> None:
    modules = (path for path in (ROOT / room).rglob("*.py") if "migrations" not in path.parts)
    assert [
        str(path.relative_to(ROOT)) for path in modules if has_unwanted(path.stem) or has_unwanted(path.parent.name)
    ] == []


@pytest.mark.parametrize("room", ["core", "panel", "pools", "benchmarks"])
def test_identifiers_are_terms_of_the_field(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in (ROOT / room).rglob("*.py")
        if "migrations" not in path.parts
        for line, name in identifiers(ast.parse(path.read_text()))
        if has_unwanted(name)
    ]
    assert found == []
