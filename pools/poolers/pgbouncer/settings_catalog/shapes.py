"""Constructors for the types of PgBouncer's settings, as its lib/usual/cfparser.c and loader.c parse them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from pools.poolers.settings_schema import LARGEST, Scope, Setting, Type, help_with_default

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text
else:
    Text = Any

WORDS = r"[A-Za-z_][A-Za-z0-9_.]*"  # the name of a parameter of PostgreSQL
WORD_LIST = rf"{WORDS}( *, *{WORDS})*"
MODES = ("session", "transaction", "statement")
LOCKED_OUT = _("it requires a certificate of each client, which the panel does not have, so its console would be shut")
SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


def number(name: str, default: str, help_text: Text, **more: Any) -> Setting:
    """Define a whole number from 0 on."""
    return _setting(Type.NUMBER, name, default, help_text, {"minimum": 0, "maximum": LARGEST} | more)


def seconds(name: str, default: str, help_text: Text, **more: Any) -> Setting:
    """Define a time in seconds, fractions allowed."""
    span = {"minimum": 0, "maximum": LARGEST, "unit": "s"}
    return _setting(Type.SECONDS, name, default, help_text, span | more)


def switch(name: str, default: str, help_text: Text, **more: Any) -> Setting:
    """Define a switch, on (1) or off (0)."""
    return _setting(Type.BOOLEAN, name, default, help_text, more)


def choice(name: str, choices: tuple[str, ...], default: str, help_text: Text, **more: Any) -> Setting:
    """Define a choice of words."""
    return _setting(Type.CHOICE, name, default, help_text, {"choices": choices} | more)


def text(name: str, default: str, help_text: Text, **more: Any) -> Setting:
    """Define a line of text; outer spaces are not part of it."""
    return _setting(Type.TEXT, name, default, help_text, more)


def file(name: str, help_text: Text, **more: Any) -> Setting:
    """Define the path of a file whose content is given to the panel."""
    return _setting(Type.FILE, name, "", help_text, more)


def of_group(group: Text, *settings: Setting) -> tuple[Setting, ...]:
    """Return the settings with the heading of their group on the page."""
    return tuple(replace(setting, heading=group) for setting in settings)


def _setting(kind: Type, name: str, default: str, help_text: Text, more: dict[str, Any]) -> Setting:
    """Build a record; give an `anchor` for a heading that the manual has a second or third time, such as `name-1`."""
    scope, manual = more.pop("scope", Scope.PROGRAM), f"#{more.pop('anchor', name)}"
    stated = help_with_default(help_text, kind, default)
    return Setting(name, scope, kind, default, stated, heading="", **{"manual": manual} | more)
