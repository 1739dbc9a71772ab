"""The shapes that most settings of PgBouncer have: what its lib/usual/cfparser.c and loader.c read."""

from dataclasses import replace
from typing import Any

from pools.poolers.settings_schema import LARGEST, Scope, Setting, Type

WORDS = r"[A-Za-z_][A-Za-z0-9_.]*"  # of a parameter of PostgreSQL
WORD_LIST = rf"{WORDS}( *, *{WORDS})*"
MODES = ("session", "transaction", "statement")
LOCKED_OUT = "asks for a certificate of each client, which the panel has not: its console login would be refused"
SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


def number(name: str, label: str, default: str, help_text: str, **more: Any) -> Setting:
    """A whole number from 0 on."""
    return _setting(Type.NUMBER, name, label, default, help_text, {"minimum": 0, "maximum": LARGEST} | more)


def seconds(name: str, label: str, default: str, help_text: str, **more: Any) -> Setting:
    """A time in seconds, fractions allowed."""
    span = {"minimum": 0, "maximum": LARGEST, "unit": "seconds"}
    return _setting(Type.SECONDS, name, label, default, help_text, span | more)


def switch(name: str, label: str, default: str, help_text: str, **more: Any) -> Setting:
    """On (1) or off (0)."""
    return _setting(Type.BOOLEAN, name, label, default, help_text, more)


def choice(name: str, label: str, choices: tuple[str, ...], default: str, help_text: str, **more: Any) -> Setting:
    """One of some words."""
    return _setting(Type.CHOICE, name, label, default, help_text, {"choices": choices} | more)


def text(name: str, label: str, default: str, help_text: str, **more: Any) -> Setting:
    """A line of text; outer spaces are not part of it."""
    return _setting(Type.TEXT, name, label, default, help_text, more)


def file(name: str, label: str, help_text: str, **more: Any) -> Setting:
    """The path of a file whose content is given to the panel."""
    return _setting(Type.FILE, name, label, "", help_text, more)


def of_group(group: str, *settings: Setting) -> tuple[Setting, ...]:
    """The settings under the heading of the page where they stand."""
    return tuple(replace(setting, group=group) for setting in settings)


def _setting(kind: Type, name: str, label: str, default: str, help_text: str, more: dict[str, Any]) -> Setting:
    scope = more.pop("scope", Scope.PROGRAM)
    return Setting(name, scope, kind, default, help_text, group="", label=label, **more)
