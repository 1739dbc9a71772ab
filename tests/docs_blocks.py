"""The pages of the documentation, and the commands in them.

A block ```sh is run by a test, unless the line before it says `<!-- not run: REASON -->`. With the reason `your own
values` it holds `export NAME=…` lines alone: what readers put in for themselves, and the test puts in for them. A block
```console that follows holds what the block prints: `…` stands for anything, alone on a line for any number of lines.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# what is no page: documents for developers, files that pages offer, and what builds the pages
OTHERS = {"development", "pull", "_ext", "_static", "_templates"}
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in OTHERS)
FENCE = re.compile(r"(?ms)^(?P<indent> *)```(?P<language>sh|console)\n(?P<text>.*?)^(?P=indent)```$")
NOT_RUN = re.compile(r"<!-- not run: (\S.*) -->")
OWN_VALUES = "your own values"
EXPORT = re.compile(r"export ([A-Z_]+)=(?:\"[^\"]*\"|\S+)")


def named(page: Path) -> str:
    """Return a page's name for the id of a test."""
    return str(page.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    """A block of a page: the line of its fence, its language, its text, and why no test runs it, else empty."""

    line: int
    language: str
    text: str
    not_run: str = ""

    @property
    def is_run(self) -> bool:
        """Whether a test runs it."""
        return self.language == "sh" and not self.not_run


def blocks(text: str) -> list[Block]:
    """Return the blocks of commands and of output of a page, in order."""
    return [_block(text, match) for match in FENCE.finditer(text)]


def _block(text: str, match: re.Match[str]) -> Block:
    before = text[: match.start()].splitlines()
    reason = NOT_RUN.fullmatch(before[-1].strip()) if before else None
    return Block(len(before) + 1, match["language"], dedent(match["text"]), reason[1] if reason else "")


def own_values(found: list[Block]) -> set[str]:
    """Return the names of the variables that readers set; every line of their blocks has to be an export."""
    lines = [line for one in found if one.not_run == OWN_VALUES for line in one.text.splitlines()]
    exports = [EXPORT.fullmatch(re.sub(r"\s+#.*", "", line)) for line in lines]
    assert all(exports), [line for line, export in zip(lines, exports, strict=True) if not export]
    return {export[1] for export in exports if export}
