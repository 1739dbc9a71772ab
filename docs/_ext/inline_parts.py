"""Moves inline styles and scripts of the built pages into files: the panel's policy for /help/ forbids them.

What a theme, docutils or an extension writes inline is found in the finished pages, so none of these needs a change.
"""

import hashlib
import re
from pathlib import Path

from sphinx.application import Sphinx

ELEMENT = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)
ATTRIBUTE = re.compile(r"(<[a-z][^<>]*?)\sstyle=\"([^\"]*)\"")
ROOT = re.compile(r'data-content_root="([^"]*)"')


def move_all(app: Sphinx, error: Exception | None) -> None:
    """Rewrite each page, once the build has ended well."""
    if error is None and app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        for page in Path(app.outdir).rglob("*.html"):
            text = page.read_text()
            if (moved := without_inline_parts(text, static)) != text:
                page.write_text(moved)


def without_inline_parts(page: str, static: Path) -> str:
    """Return the page with links to files in `static`, a folder, in place of its inline styles and scripts."""
    found = ROOT.search(page)
    root = found.group(1) if found else ""
    rules: set[str] = set()

    def element(match: re.Match[str]) -> str:
        if match.group(1) == "style":
            return f'<link rel="stylesheet" href="{root}_static/{_stored(match.group(2), "css", static)}">'
        return f'<script src="{root}_static/{_stored(match.group(2), "js", static)}"></script>'

    def attribute(match: re.Match[str]) -> str:
        name = _digest(match.group(2))
        rules.add(f'[data-style="{name}"] {{ {match.group(2)} }}')
        return f'{match.group(1)} data-style="{name}"'

    page = ATTRIBUTE.sub(attribute, ELEMENT.sub(element, page))
    if rules:
        name = _stored("\n".join(sorted(rules)), "css", static)
        page = page.replace("</head>", f'<link rel="stylesheet" href="{root}_static/{name}">\n</head>', 1)
    return page


def _stored(text: str, suffix: str, static: Path) -> str:
    name = f"inline-{_digest(text)}.{suffix}"
    (static / name).write_text(text)
    return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def setup(app: Sphinx) -> dict[str, bool]:
    """Run after everything that writes pages."""
    app.connect("build-finished", move_all, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
