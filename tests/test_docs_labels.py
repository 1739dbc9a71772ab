"""Labels that the documentation names in bold are on the panel's pages, so that readers find them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs_blocks import PAGES, ROOT, named

# pages of "coming from" name the labels of other programs too
GUIDES = [page for page in PAGES if page.parent.name == "how-to" or page.stem == "tutorial"]
BOLD = re.compile(r"\*\*([^*]+)\*\*")
CODE = re.compile(r"(?ms)^ *```.*?^ *```$|`[^`]*`")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)+)"')
QUOTED = re.compile(r"""(?:translate |_\()["'](.+?)["']""")
BLOCK = re.compile(r"{%\s*blocktranslate.*?%}(.*?){%\s*endblocktranslate", re.DOTALL)
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%s|{{.+?}}|{.+?}|<[^>]+>")


def labels(page: str) -> list[str]:
    """Return the labels of a page in bold; an arrow leads from one to the next."""
    text = CODE.sub("", page)
    return [label for bold in BOLD.findall(text) for label in " ".join(bold.split()).rstrip(":.").split(" → ")]


@cache
def shown() -> re.Pattern[str]:
    """Return a pattern of all texts of pages; a placeholder in one stands for a word, such as a name or a number."""
    texts = {" ".join(text.split()) for text in _texts()}
    parts = [PLACEHOLDER.split(text) for text in sorted(texts) if re.search(r"[a-zA-Z]{3}", PLACEHOLDER.sub("", text))]
    return re.compile("|".join(r"\S+".join(map(re.escape, words)) for words in parts))


def _texts() -> Iterator[str]:
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        yield from QUOTED.findall(text)
        yield from (part for block in BLOCK.findall(text) for part in re.split(r"{%\s*plural\s*%}", block))
    for room, kind in (("core", "py"), ("panel", "py"), ("pools", "py"), ("benchmarks", "py"), ("static/js", "js")):
        for path in (ROOT / room).rglob(f"*.{kind}"):
            yield from LITERAL.findall(path.read_text())


def missing(page: str) -> list[str]:
    """Return the labels that no page of the panel shows; `…` in a label stands for a name."""
    return [label for label in labels(page) if not shown().fullmatch(label.replace("'", "’").replace("…", "x"))]


@pytest.mark.parametrize("page", GUIDES, ids=named)
def test_labels_in_bold_are_on_pages_of_the_panel(page: Path) -> None:
    assert missing(page.read_text()) == []


def test_a_label_that_no_page_has_is_found() -> None:
    page = "Open **Poolers → Register a pooler**, **Start 6 runs**, **Configuration folder** and\n**Paste a\nlist**."
    assert missing(page) == ["Configuration folder"]
