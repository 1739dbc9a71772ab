"""Puts what the code says into pages: `<!-- generated: NAME -->`, alone in a line, becomes a part of the reference."""

import re
from pathlib import Path

import django
from reference import PARTS
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PLACE = re.compile(r"(?m)^<!-- generated: ([\w-]+) -->$")
# links that lead out of docs/ in a checkout, and what they are here
PAGES_OF_FILES = {"SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"\]\((?:\.\./)+(\w+\.md)(#[^)]*)?\)")


def with_generated_parts(text: str) -> str:
    """Replace each place by Markdown; an unknown name raises `ExtensionError`."""

    def part(match: re.Match[str]) -> str:
        if match.group(1) not in PARTS:
            raise ExtensionError(f"nothing is generated as {match.group(1)}: use one of {', '.join(sorted(PARTS))}")
        return PARTS[match.group(1)]()

    return PLACE.sub(part, text)


def with_links_to_pages(text: str, page: str) -> str:
    """Let links to the files beside docs/ lead to the pages that show these; `page` is the name of this page."""
    up = "../" * page.count("/")

    def link(match: re.Match[str]) -> str:
        target = PAGES_OF_FILES.get(match.group(1))
        return f"]({up}{target}{match.group(2) or ''})" if target else match.group(0)

    return LINK.sub(link, text)


def complete(app: Sphinx, page: str, content: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    content[0] = with_links_to_pages(with_generated_parts(content[0]), page)


def read_again(app: Sphinx, _env: object, _added: object, _changed: object, _removed: object) -> list[str]:
    """Return the pages that have generated parts: the code may have changed since the last build."""
    return [page for page in app.env.found_docs if PLACE.search(Path(app.env.doc2path(page)).read_text())]


def setup(app: Sphinx) -> dict[str, bool]:
    """Start Django before the first page is read."""
    django.setup()
    app.connect("source-read", complete)
    app.connect("env-get-outdated", read_again)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
