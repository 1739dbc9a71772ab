"""Every text that a person reads passes gettext, so that a catalogue in `locale/` can translate it."""

from pathlib import Path

import pytest

from tests.panel import python_texts, template_texts

ROOT = Path(__file__).resolve().parent.parent.parent
# run by themselves, or read on a terminal
NOT_PAGES = ["migrations", "quickstart", "management", "load_programs"]

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MODULES = [
    path
    for room in ("panel", "pools", "benchmarks")
    for path in sorted((ROOT / room).rglob("*.py"))
    if not set(NOT_PAGES) & set(path.parts)
]


@pytest.mark.parametrize("folder", sorted({path.parent for path in TEMPLATES}), ids=lambda path: path.name)
def test_texts_of_templates_pass_gettext(folder: Path) -> None:


@pytest.mark.parametrize("room", sorted({path.relative_to(ROOT).parts[0] for path in MODULES}))
def test_texts_of_the_code_pass_gettext(room: str) -> None:


@pytest.mark.parametrize(
)
def test_a_text_of_a_template_is_found(template: str, found: list[str]) -> None:


@pytest.mark.parametrize(
)
def test_a_text_of_the_code_is_found(source: str, found: list[str]) -> None:
