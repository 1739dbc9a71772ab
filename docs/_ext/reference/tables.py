"""Tables in Markdown."""

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; its cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def code(text: object) -> str:
    """Return the text as code; nothing for an empty one."""
    return f"`{text}`" if text not in ("", None) else ""


def plain(text: object) -> str:
    """Return the text so that none of its signs but backticks is read as Markdown: docstrings mark code by them."""
    parts = str(text).split("`")
    return "`".join(part if index % 2 else _escaped(part) for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_<>\[\]{}#$])", r"\\\1", text)
