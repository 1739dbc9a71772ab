"""Parts of the documentation that are read from the code or from files beside docs/, as Markdown."""

from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def _body_of(name: str) -> Callable[[], str]:
    """Return what gives a file's text without its title."""
    return lambda: (ROOT / name).read_text().partition("\n")[2]


PARTS: dict[str, Callable[[], str]] = {"changelog": _body_of("CHANGELOG.md"), "security": _body_of("SECURITY.md")}
