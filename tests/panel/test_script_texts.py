"""Each text that a script shows passes gettext; found by its looks, as no parser of JavaScript is at hand."""

import re
from collections.abc import Iterator

import pytest

from core.lib.env import BASE_DIR

SCRIPTS = sorted((BASE_DIR / "static" / "js").glob("*.js"))
LITERAL = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""
TOKEN = re.compile(rf"(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<literal>{LITERAL})", re.S)
PASSED = re.compile(r"n?gettext\((?:\s*(?:LITERAL)\s*,)?\s*$".replace("LITERAL", LITERAL))
SHOWN = re.compile(r"\.(?:textContent|title|ariaLabel|label|placeholder|alt)\s*=\s*$|\b(?:title|label):\s*$")
WORDS = re.compile(r"[A-Za-z]{2,}[,;:]? [A-Za-z]{2,}")
NO_TEXTS = {
    "idle in transaction": "a state's name in pg_stat_activity",
    "idle in transaction (aborted)": "another",
    "(prefers-color-scheme: dark)": "a media query",
}
# pgbench's own line, a style, a key of the browser's storage, selectors, fonts
PROGRAM = re.compile(r"^progress: |^color-mix\(|^pooldeck draft |^input, select$|^\[|^#|px sans-serif$")


def literals(text: str) -> Iterator[tuple[str, str]]:
    """Yield the code before each literal, comments left out, and the literal without its quotes."""
    before = ""
    at = 0
    for found in TOKEN.finditer(text):
        before = (before + text[at : found.start()])[-400:]
        at = found.end()
        if literal := found["literal"]:
            yield before, literal[1:-1]
            before += literal


def plain_texts(text: str) -> list[str]:
    """Return the literals that a person would read and that don't pass gettext."""
    found = []
    for before, literal in literals(text):
        readable = re.sub(r"\$\{[^}]*\}", " ", literal)
        is_text = WORDS.search(readable) or (SHOWN.search(before) and re.search("[A-Za-z]{2,}", readable))
        if is_text and not PASSED.search(before) and literal not in NO_TEXTS and not PROGRAM.search(literal):
            found.append(literal)
    return found


@pytest.mark.parametrize("name", [path.name for path in SCRIPTS])
def test_every_text_of_a_script_passes_gettext(name: str) -> None:
    assert plain_texts((BASE_DIR / "static" / "js" / name).read_text()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('place.textContent = "live";', ["live"]),
        ("place.textContent = `${count} ticked`;", ["${count} ticked"]),
        ('const words = "Tick two or more.";', ["Tick two or more."]),
        ('place.title = gettext("Show or hide");', []),
        ('ngettext("one run", "%(count)s runs of it", count)', []),
        ('// "a comment of words"\nconst key = "cl_active";', []),
    ],
)
def test_texts_are_told_from_names(text: str, expected: list[str]) -> None:
    assert plain_texts(text) == expected


def test_no_text_is_glued_from_placeholders_of_another_kind() -> None:
    scripts = "".join(path.read_text() for path in SCRIPTS)
    assert re.findall(r"n?gettext\(\s*`[^`]*", scripts) == []
    assert re.findall(r'gettext\("[^"]*%[sd]', scripts) == []
