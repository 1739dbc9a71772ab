"""What a pooler can be told: one record a setting, whatever the program; forms, checks and rendering read it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

Version = tuple[int, int]
NO_VERSION: Version = (0, 0)


class Scope(StrEnum):
    """What a setting is given to."""

    PROGRAM = "program"
    POOL = "pool"
    USER = "user"


class Type(StrEnum):
    """How a value is read; numbers are whole unless `SECONDS`, which may have a fraction."""

    NUMBER = "number"
    SECONDS = "seconds"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    TEXT = "text"
    FILE = "file"  # the content of an uploaded file, kept as a PoolerFile


@dataclass(frozen=True)
class Setting:
    """One setting in one scope. `default`, `minimum`, `maximum` and values of `unit` are as the program takes them.

    `since` is the first release that knows it, `until` the first that no longer does. `restart`: the program
    reads it at its start only. `pattern`: a regular expression that a text must match whole.
    """

    name: str
    scope: Scope
    type: Type
    default: str
    help: str
    group: str
    since: Version = NO_VERSION
    until: Version | None = None
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    pattern: str = ""
    restart: bool = False

    def known_to(self, version: Version) -> bool:
        """Whether that release takes it."""
        return self.since <= version and (self.until is None or version < self.until)


def offered(catalogue: Iterable[Setting], scope: Scope, version: Version) -> tuple[Setting, ...]:
    """The settings of a scope that a release knows, in the catalogue's order."""
    return tuple(setting for setting in catalogue if setting.scope == scope and setting.known_to(version))


def problems(
    catalogue: Iterable[Setting], scope: Scope, values: Mapping[str, object], version: Version
) -> Iterator[tuple[str, str]]:
    """(name, message) for each value that this release would refuse, misread, or look for in another place."""
    here = {setting.name: setting for setting in catalogue if setting.scope == scope}
    elsewhere = {setting.name: setting.scope for setting in catalogue if setting.scope != scope}
    for name, value in values.items():
        if name not in here:
            yield name, _unknown(name, scope, elsewhere.get(name))
        elif not here[name].known_to(version):
            yield name, _another_release(here[name], version)
        elif fault := fault_of(here[name], value):
            yield name, fault


def fault_of(setting: Setting, value: object) -> str:
    """Why the program would refuse or misread this value; empty when it takes it."""
    text = str(value)
    if any(sign in text for sign in "\r\n\0") and setting.type != Type.FILE:
        return f"{setting.name}: a line break or NUL can't be written into a configuration file: leave it out"
    if not text.strip():
        return f"{setting.name} is empty: give it a value, or leave it out for the default {setting.default!r}"
    return CHECKS[setting.type](setting, value)


def _number_fault(setting: Setting, value: object) -> str:
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+", str(value)):
        return f"{setting.name}={value!r} is no whole number"
    return _range_fault(setting, int(str(value)))


def _seconds_fault(setting: Setting, value: object) -> str:
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+(\.\d+)?", str(value)):
        return f"{setting.name}={value!r} is no number of seconds"
    return _range_fault(setting, float(str(value)))


def _range_fault(setting: Setting, number: float) -> str:
    low, high = setting.minimum, setting.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        span = f"{low:g} to {high:g}" if low is not None and high is not None else f"at least {low or 0:g}"
        return f"{setting.name}={number:g} is out of range: use {span} {setting.unit}".rstrip()
    return ""


def _boolean_fault(setting: Setting, value: object) -> str:
    return "" if str(value) in ("0", "1", "True", "False") else f"{setting.name}={value!r} is neither 0 nor 1"


def _choice_fault(setting: Setting, value: object) -> str:
    if str(value) in setting.choices:
        return ""
    return f"{setting.name}={value!r} is none of {', '.join(setting.choices)}"


def _text_fault(setting: Setting, value: object) -> str:
    if not setting.pattern or re.fullmatch(setting.pattern, str(value)):
        return ""
    return f"{setting.name}={value!r} is not in the form it takes: {setting.help}"


CHECKS: dict[Type, Callable[[Setting, object], str]] = {
    Type.NUMBER: _number_fault,
    Type.SECONDS: _seconds_fault,
    Type.BOOLEAN: _boolean_fault,
    Type.CHOICE: _choice_fault,
    Type.TEXT: _text_fault,
    Type.FILE: _text_fault,
}


def _unknown(name: str, scope: Scope, other: Scope | None) -> str:
    if other:
        return f"{name} is no setting of a {scope}, but of a {other}: give it there"
    return f"{name} is no setting of this pooler: look at its list of settings for the right name"


def _another_release(setting: Setting, version: Version) -> str:
    here, since = (".".join(map(str, one)) for one in (version, setting.since))
    if setting.until and version >= setting.until:
        return f"{setting.name} is gone since {'.'.join(map(str, setting.until))}, and this is {here}: leave it out"
    return f"{setting.name} came with {since}, and this is {here}: leave it out, or upgrade"
