"""The pages of the documentation, and the commands in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# what is no page: documents for developers, files that pages offer, and what builds the pages
OTHERS = {"development", "pull", "_ext", "_static", "_templates"}
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in OTHERS)
BLOCK = re.compile(r"(?m)^(?P<before>.*\n)?^```(?P<kind>\w*)\n(?P<text>(?:.*\n)*?)```$")
NOT_RUN = re.compile(r"<!-- not run: (\S.*) -->")


def named(page: Path) -> str:
    """Return a page's name for the id of a test."""
    return str(page.relative_to(ROOT))


@dataclass(frozen=True)
class Commands:
    """The commands of one block ```sh; `not_run` is the reason why no test runs them, else empty."""

    text: str
    not_run: str


def commands_of(text: str) -> list[Commands]:
    """Return the blocks of a page, in their order."""
    found = (block for block in BLOCK.finditer(text) if block["kind"] == "sh")
    reasons = ((block["text"], NOT_RUN.fullmatch((block["before"] or "").strip())) for block in found)
    return [Commands(commands, reason.group(1) if reason else "") for commands, reason in reasons]


def run_by_a_test(page: Path) -> str:
    """Return the commands of a page that a test runs, as one script."""
    return "\n".join(block.text for block in commands_of(page.read_text()) if not block.not_run)
