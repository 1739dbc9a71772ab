"""Schema of a pooler's settings: one record per setting, for forms, checks and rendering of every kind of pooler."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Version = tuple[int, int]
NO_VERSION: Version = (0, 0)
SWITCHED = {"1": "on", "0": "off"}
Check = Callable[[str, Version], str]  # the content of a file and the release that reads it → its fault, or empty


class Scope(StrEnum):
    """The object that a setting belongs to."""

    PROGRAM = "program"
    POOL = "pool"
    USER = "user"


SCOPE_NAMES = {
    Scope.PROGRAM: gettext_lazy("program"),
    Scope.POOL: gettext_lazy("pool"),
    Scope.USER: gettext_lazy("user"),
}
NOT_ITS_SETTING = {
    Scope.PROGRAM: gettext_lazy("%(name)s is not a setting of a program, but of: %(others)s; give it there"),
    Scope.POOL: gettext_lazy("%(name)s is not a setting of a pool, but of: %(others)s; give it there"),
    Scope.USER: gettext_lazy("%(name)s is not a setting of a user, but of: %(others)s; give it there"),
}


class Type(StrEnum):
    """The type of a value; numbers are whole unless `SECONDS`, which may have a fraction."""

    NUMBER = "number"
    SECONDS = "seconds"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    TEXT = "text"
    FILE = "file"  # the content of an uploaded file, kept as a PoolerFile


@dataclass(frozen=True)
class Setting:
    """One setting in one scope. `default`, `minimum`, `maximum` and values of `unit` are as the program takes them.

    `help` is at least one whole sentence. `keyword` is its name in the program's manual where that differs from ours,
    and `manual` its address relative to that of the manual; both are empty for a setting that no manual has.

    `since` is the first release that knows it, `until` the first that no longer does; a setting whose default or
    values changed with a release has a record for each span. `restart`: the program reads it only at its start.
    `pattern`: a regular expression that must match the whole text. `fixed`: why the panel only shows it. `needs`: for
    some of its values, the other settings that must be given with them. `refused`: choices that the program takes and
    the panel does not, with the reason. `check` finds faults in the content of a FILE, or in a text beyond its pattern,
    and a certificate's `key` is the setting of its private key. `agrees`: another FILE that the content refers to, and
    a check of both together. `may_be_empty`: an empty text is a value that differs from the default. `octal`: written
    in octal digits, while the program shows the number in decimal. `carries_sql`: its text runs on server connections.
    """

    name: str
    scope: Scope
    type: Type
    default: str
    help: "StrOrPromise"
    heading: "StrOrPromise"  # the heading of its group
    since: Version = NO_VERSION
    until: Version | None = None
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    pattern: str = ""
    restart: bool = False
    keyword: str = ""
    manual: str = ""
    fixed: "StrOrPromise" = ""
    also: tuple[str, ...] = ()
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    refused: tuple[tuple[str, "StrOrPromise"], ...] = ()
    check: Check | None = None
    key: str = ""
    agrees: tuple[str, Callable[[str, str], str]] | None = None
    may_be_empty: bool = False
    octal: bool = False
    carries_sql: bool = False

    @property
    def group(self) -> str:
        """The heading of its group."""
        return str(self.heading)

    @property
    def label(self) -> str:
        """The name that the program's manual has for it."""
        return self.keyword or self.name

    def known_to(self, version: Version) -> bool:
        """Return whether that release takes it."""
        return self.since <= version and (self.until is None or version < self.until)


def help_with_default(text: "StrOrPromise", type: Type, default: str) -> "StrOrPromise":
    """Return a help with the default in place of `{default}`, where a boolean's is `on` or `off`."""
    return format_lazy(text, default=SWITCHED.get(default, default) if type == Type.BOOLEAN else default)


def manual_url(manual: str, setting: Setting, version: Version) -> str:
    """Return the address of a setting in the manual of a release; empty for one that no manual has.

    `manual` is the address of the manual, with `{0}` and `{1}` for the two numbers of the release.
    """
    return urljoin(manual.format(*version), setting.manual) if setting.manual else ""


def offered(catalog: Iterable[Setting], scope: Scope, version: Version) -> tuple[Setting, ...]:
    """Return the settings of a scope that the panel can set in a release, in the catalog's order."""
    return tuple(setting for setting in shown(catalog, scope, version) if not setting.fixed)


def first_release(settings: Iterable[Setting], setting: Setting) -> Version:
    """Return the release that introduced a setting, regardless of later defaults or units."""
    alike = [one.since for one in settings if (one.name, one.scope) == (setting.name, setting.scope)]
    return min(alike, default=setting.since)


def shown(catalog: Iterable[Setting], scope: Scope, version: Version) -> tuple[Setting, ...]:
    """Return all settings of a scope that a release knows, including those that the panel does not set."""
    return tuple(setting for setting in catalog if setting.scope == scope and setting.known_to(version))


def problems(
    catalog: Iterable[Setting], scope: Scope, values: Mapping[str, object], version: Version
) -> Iterator[tuple[str, str]]:
    """Yield (name, message) for each value that this release would refuse, misread, or read from another place."""
    catalog = tuple(catalog)
    for name, value in values.items():
        named = [setting for setting in catalog if setting.name == name]
        here = [setting for setting in named if setting.scope == scope]
        called = next((setting.name for setting in catalog if setting.scope == scope and name in setting.also), "")
        if called:
            yield (
                name,
                _("%(name)s is called %(called)s here, whatever the release calls it: use that name")
                % {"name": name, "called": called},
            )
        elif not here:
            yield name, _unknown(name, scope, named)
        elif fault := _fault_at(here, value, version):
            yield name, fault


def fault_of(setting: Setting, value: object) -> str:
    """Return why the program would refuse or misread this value; empty when it takes it."""
    text = str(value)
    if any(sign in text for sign in "\r\n\0") and setting.type != Type.FILE:
        return _("%(name)s: a line break or NUL can't be written into a configuration file: leave it out") % {
            "name": setting.name
        }
    if not text.strip():
        if setting.may_be_empty:
            return ""
        return _("%(name)s is empty: give it a value, or leave it out for the default %(default)r") % {
            "name": setting.name,
            "default": setting.default,
        }
    return CHECKS[setting.type](setting, value)


def span(setting: Setting) -> str:
    """Format the range of numbers it takes: `0 to 3`, `at least 0`; empty where there is no limit."""
    low, high = setting.minimum, setting.maximum
    if low is not None and high is not None and high < LARGEST:
        return _("%(low)s to %(high)s") % {"low": f"{low:,.10g}", "high": f"{high:,.10g}"}
    return "" if low is None else _("at least %(low)s") % {"low": f"{low:,.10g}"}


def readable(setting: Setting, live: str) -> str:
    """Return the program's live value in the form of a file."""
    return f"{int(live):04o}" if setting.octal and live.isdigit() else live


def displayed(setting: Setting, written: str) -> str:
    """Return a value for pages: `on` for a boolean 1."""
    return SWITCHED.get(written, written) if setting.type == Type.BOOLEAN else written


def changed_by(name: str, live: str, wanted: str, *, by_restart: bool) -> str:
    """Describe how a restart, or else a reload, would change a setting."""
    params = {"name": name, "live": live or _("empty"), "wanted": wanted or _("empty")}
    if by_restart:
        return _("a restart would change %(name)s from %(live)s to %(wanted)s") % params
    return _("a reload would change %(name)s from %(live)s to %(wanted)s") % params


LARGEST = 2_147_483_647  # the largest C int: a limit of the machine, not worth showing


def _fault_at(named: list[Setting], value: object, version: Version) -> str:
    """Return the fault of a value by the record of this release, among the records of one name."""
    known = [setting for setting in named if setting.known_to(version)]
    if not known:
        return _another_release(named, version)
    if known[0].fixed:
        return _("%(name)s is not set by the panel. %(sentence)s") % {"name": known[0].name, "sentence": known[0].fixed}
    return fault_of(known[0], value)


def _number_fault(setting: Setting, value: object) -> str:
    if isinstance(value, bool) or not re.fullmatch(r"-?[0-9]+", str(value)):
        text = _("%(name)s=%(value)r is not a whole number: enter one such as 10")
        return text % {"name": setting.name, "value": value}
    return _range_fault(setting, int(str(value)))


def _seconds_fault(setting: Setting, value: object) -> str:
    if isinstance(value, bool) or not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", str(value)):
        text = _("%(name)s=%(value)r is not a number of seconds: enter one such as 2.5")
        return text % {"name": setting.name, "value": value}
    return _range_fault(setting, float(str(value)))


def _range_fault(setting: Setting, number: float) -> str:
    low, high = setting.minimum, setting.maximum
    if low is not None and number < low:
        limits = span(setting)
    elif high is not None and number > high:
        limits = _("%(low)s to %(high)s") % {"low": f"{low or 0:.10g}", "high": f"{high:.10g}"}
    else:
        return ""
    params = {"name": setting.name, "number": f"{number:.10g}", "limits": f"{limits} {setting.unit}".rstrip()}
    return _("%(name)s=%(number)s is out of range: use %(limits)s") % params


def _boolean_fault(setting: Setting, value: object) -> str:
    if str(value) in ("0", "1", "True", "False"):
        return ""
    text = _("%(name)s=%(value)r is neither 0 nor 1: enter 1 for on, or 0 for off")
    return text % {"name": setting.name, "value": value}


def _choice_fault(setting: Setting, value: object) -> str:
    if reason := dict(setting.refused).get(str(value)):
        return _("%(name)s=%(value)s is not possible here: %(reason)s") % {
            "name": setting.name,
            "value": value,
            "reason": reason,
        }
    if str(value) in setting.choices:
        return ""
    params = {"name": setting.name, "value": value, "choices": ", ".join(setting.choices)}
    return _("%(name)s=%(value)r is not one of %(choices)s") % params


def _text_fault(setting: Setting, value: object) -> str:
    if setting.pattern and not re.fullmatch(setting.pattern, str(value)):
        params = {"name": setting.name, "value": value, "help": setting.help}
        return _("%(name)s=%(value)r does not have the required form. %(help)s") % params
    fault = setting.check(str(value), NO_VERSION) if setting.check else ""
    return f"{setting.name}: {fault}" if fault else ""


CHECKS: dict[Type, Callable[[Setting, object], str]] = {
    Type.NUMBER: _number_fault,
    Type.SECONDS: _seconds_fault,
    Type.BOOLEAN: _boolean_fault,
    Type.CHOICE: _choice_fault,
    Type.TEXT: _text_fault,
    Type.FILE: _text_fault,
}


def _unknown(name: str, scope: Scope, elsewhere: list[Setting]) -> str:
    if elsewhere:
        others = ", ".join(dict.fromkeys(str(SCOPE_NAMES[setting.scope]) for setting in elsewhere))
        return NOT_ITS_SETTING[scope] % {"name": name, "others": others}
    return _("%(name)s is not a setting of this pooler: see its list of settings for the right name") % {"name": name}


def _another_release(named: list[Setting], version: Version) -> str:
    """Return why no record of a name is this release's; a name may have one record per span of releases."""
    params = {"name": named[0].name, "here": _dotted(version)}
    coming = [setting.since for setting in named if setting.since > version]
    if coming:
        params["since"] = _dotted(min(coming))
        return _("%(name)s came with %(since)s, and this is %(here)s: leave it out, or upgrade") % params
    gone = max(setting.until or NO_VERSION for setting in named)
    params["until"] = _dotted(gone)
    return _("%(name)s was removed in %(until)s, and this is %(here)s: leave it out") % params


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
