"""Writes llms.txt, an index of the pages with a line on each (https://llmstxt.org), into the root of the site."""

import re
from collections import defaultdict
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

SECTIONS = {
    "": "Start",
    "how-to": "How-to",
    "reference": "Reference",
    "explanation": "Explanation",
    "coming-from": "Coming from",
}
MOST = 200


def first_sentence(env: BuildEnvironment, page: str) -> str:
    """Return what the page's first paragraph says, up to its first full stop."""
    for paragraph in env.get_doctree(page).findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section):
            continue
        sentence = re.split(r"(?<=[.:])\s", " ".join(paragraph.astext().split()), maxsplit=1)[0]
        return sentence[:MOST]
    return ""


def index(env: BuildEnvironment) -> str:
    """Return the text of llms.txt."""
    lines: dict[str, list[str]] = defaultdict(list)
    for page in sorted(env.found_docs - {"index"}):
        title = env.titles[page].astext()
        lines[page.rpartition("/")[0]].append(f"- [{title}]({page}.html): {first_sentence(env, page)}")
    parts = [f"# Pooldeck\n\n> {first_sentence(env, 'index')}\n"]
    parts += [
        f"## {heading}\n\n" + "\n".join(lines[folder]) + "\n" for folder, heading in SECTIONS.items() if lines[folder]
    ]
    return "\n".join(parts)


def write(app: Sphinx, error: Exception | None) -> None:
    """Write it once the build has ended well."""
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "llms.txt").write_text(index(app.env))


def setup(app: Sphinx) -> dict[str, bool]:
    """Run at the end of a build."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
