"""Parts of the documentation that are read from the code or from files beside docs/, as Markdown."""

from collections.abc import Callable
from importlib import import_module

from reference.places import ROOT


def _body_of(name: str) -> Callable[[], str]:
    """Return what gives a file's text without its title."""
    return lambda: (ROOT / name).read_text().partition("\n")[2]


def _made_by(module: str, function: str) -> Callable[[], str]:
    """Return what imports a module of this package at its first use: most need Django, which has to be set up first."""
    return lambda: str(getattr(import_module(f"reference.{module}"), function)())


PARTS: dict[str, Callable[[], str]] = {
    "changelog": _body_of("CHANGELOG.md"),
    "security": _body_of("SECURITY.md"),
    "states": _made_by("states", "states"),
    "modes": _made_by("modes", "modes"),
    "session-features": _made_by("modes", "session_features"),
    "events": _made_by("events", "events"),
    "metrics": _made_by("events", "metrics"),
    "log-messages": _made_by("logs", "messages"),
    "scripts": _made_by("commands", "scripts"),
    "client-commands": _made_by("commands", "client"),
    "management-commands": _made_by("commands", "management"),
    "endpoints": _made_by("api", "endpoints"),
    "errors": _made_by("errors", "errors"),
    "operations": _made_by("access", "operations"),
}
