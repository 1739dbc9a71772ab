"""Constructors for the types of Pgpool-II's settings, and their addresses in its manual."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pools.poolers.settings_schema import Scope, Setting, Type, Version, help_with_default

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text
else:
    Text = Any

OLDEST: Version = (4, 3)
LARGEST = 2_147_483_647
TEXT = r"[^'\ud800-\udfff]*"  # there is no escape for a quote; a backslash stays one (seen on 4.3 and 4.6)


def flag(name: str, default: str, help: Text, **more: Any) -> Setting:
    """Define a boolean, on (1) or off (0)."""
    return _setting(name, Type.BOOLEAN, default, help, **more)


def number(name: str, default: str, help: Text, **more: Any) -> Setting:
    """Define a whole number from 0 on."""
    return _setting(name, Type.NUMBER, default, help, **{"minimum": 0, "maximum": LARGEST} | more)


def choice(name: str, default: str, help: Text, *choices: str, **more: Any) -> Setting:
    """Define a choice of words."""
    return _setting(name, Type.CHOICE, default, help, choices=choices, **more)


def text(name: str, default: str, help: Text, **more: Any) -> Setting:
    """Define a line of text without quotes."""
    return _setting(name, Type.TEXT, default, help, **{"pattern": TEXT} | more)


def file(name: str, help: Text, **more: Any) -> Setting:
    """Define the path of a file whose content is given to the panel."""
    return _setting(name, Type.FILE, "", help, **{"restart": True} | more)


def on_page(group: Text, page: str, *settings: Setting) -> tuple[Setting, ...]:
    """Return the settings with the heading of their group, and with their anchors on one page of the manual."""
    return tuple(
        replace(one, heading=group, manual=one.manual or f"{page}.html#{_anchor(one.name)}") for one in settings
    )


def _setting(name: str, type: Type, default: str, help: Text, **more: Any) -> Setting:
    stated = help_with_default(help, type, default)
    return Setting(name, Scope.PROGRAM, type, default, stated, heading="", **{"since": OLDEST} | more)


def _anchor(name: str) -> str:
    """Return `GUC-BACKEND-WEIGHT` for `backend_weight0`, which the manual explains once for all backends."""
    return f"GUC-{name.rstrip('0123456789').upper().replace('_', '-')}"
