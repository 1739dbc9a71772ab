"""What a pooler can be told: one record a setting, whatever the program; forms, checks and rendering read it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

Version = tuple[int, int]
NO_VERSION: Version = (0, 0)
SWITCHED = {"1": "on", "0": "off"}
Check = Callable[[str, Version], str]  # the content of a file and the release that reads it → what is wrong


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

    `since` is the first release that knows it, `until` the first that no longer does; a setting whose default or
    values changed with a release has a record for each time. `restart`: the program reads it at its start only.
    `pattern`: a regular expression that a text must match whole. `fixed`: why the panel only shows it. `needs`: for
    some of its values, the other settings that must be given with them. `refused`: choices that the program takes and
    the panel does not, with the reason. `check` judges the content of a FILE, or a text further than its pattern, and a
    certificate's `key` is the setting of its private key. `agrees`: another FILE that the content refers to, and what
    is wrong between the two. `may_be_empty`: an empty text means something, and something else than the default.
    `octal`: a file has it in octal digits, the program shows the number in decimal. `carries_sql`: its text is run on
    server connections.
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
    label: str = ""
    fixed: str = ""
    also: tuple[str, ...] = ()
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    check: Check | None = None
    key: str = ""
    agrees: tuple[str, Callable[[str, str], str]] | None = None
    may_be_empty: bool = False
    octal: bool = False
    carries_sql: bool = False

    @property
    def title(self) -> str:
        """What it is called in plain words."""
        return self.label or self.name.replace("_", " ").capitalize()

    def known_to(self, version: Version) -> bool:
        """Whether that release takes it."""
        return self.since <= version and (self.until is None or version < self.until)


def offered(catalogue: Iterable[Setting], scope: Scope, version: Version) -> tuple[Setting, ...]:
    """The settings of a scope that the panel can give to a release, in the catalogue's order."""
    return tuple(setting for setting in shown(catalogue, scope, version) if not setting.fixed)


def first_release(settings: Iterable[Setting], setting: Setting) -> Version:
    """The release that brought a setting, whatever became of its default or its unit later."""
    alike = [one.since for one in settings if (one.name, one.scope) == (setting.name, setting.scope)]
    return min(alike, default=setting.since)


def shown(catalogue: Iterable[Setting], scope: Scope, version: Version) -> tuple[Setting, ...]:
    """All settings of a scope that a release knows, those that the panel does not give among them."""
    return tuple(setting for setting in catalogue if setting.scope == scope and setting.known_to(version))


def problems(
    catalogue: Iterable[Setting], scope: Scope, values: Mapping[str, object], version: Version
) -> Iterator[tuple[str, str]]:
    """(name, message) for each value that this release would refuse, misread, or look for in another place."""
    catalogue = tuple(catalogue)
    for name, value in values.items():
        named = [setting for setting in catalogue if setting.name == name]
        here = [setting for setting in named if setting.scope == scope]
        called = next((setting.name for setting in catalogue if setting.scope == scope and name in setting.also), "")
        if called:
            yield name, f"{name} is called {called} here, whatever the release calls it: give that"
        elif not here:
            yield name, _unknown(name, scope, named)
        elif fault := _fault_at(here, value, version):
            yield name, fault


def fault_of(setting: Setting, value: object) -> str:
    """Why the program would refuse or misread this value; empty when it takes it."""
    text = str(value)
    if any(sign in text for sign in "\r\n\0") and setting.type != Type.FILE:
        return f"{setting.name}: a line break or NUL can't be written into a configuration file: leave it out"
    if not text.strip():
        if setting.may_be_empty:
            return ""
        return f"{setting.name} is empty: give it a value, or leave it out for the default {setting.default!r}"
    return CHECKS[setting.type](setting, value)


def span(setting: Setting) -> str:
    """The numbers it takes, as people write them: `0 to 3`, `at least 0`; empty where there is no limit."""
    low, high = setting.minimum, setting.maximum
    if low is not None and high is not None and high < LARGEST:
        return f"{low:,.10g} to {high:,.10g}"
    return "" if low is None else f"at least {low:,.10g}"


def readable(setting: Setting, live: str) -> str:
    """What the program shows of it, as it would be written."""
    return f"{int(live):04o}" if setting.octal and live.isdigit() else live


def spoken(setting: Setting, written: str) -> str:
    """A value as people say it: `on` where 1 is written."""
    return SWITCHED.get(written, written) if setting.type == Type.BOOLEAN else written


LARGEST = 2_147_483_647  # of a C int: a limit of the machine, not one worth telling


def _fault_at(named: list[Setting], value: object, version: Version) -> str:
    """The fault of a value for that of the records of one name that is this release's."""
    known = [setting for setting in named if setting.known_to(version)]
    if not known:
        return _another_release(named, version)
    if known[0].fixed:
        return f"{known[0].name} is not given by the panel: {known[0].fixed}"
    return fault_of(known[0], value)


def _number_fault(setting: Setting, value: object) -> str:
    if isinstance(value, bool) or not re.fullmatch(r"-?[0-9]+", str(value)):
        return f"{setting.name}={value!r} is no whole number"
    return _range_fault(setting, int(str(value)))


def _seconds_fault(setting: Setting, value: object) -> str:
    if isinstance(value, bool) or not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", str(value)):
        return f"{setting.name}={value!r} is no number of seconds"
    return _range_fault(setting, float(str(value)))


def _range_fault(setting: Setting, number: float) -> str:
    low, high = setting.minimum, setting.maximum
    if low is not None and number < low:
        return f"{setting.name}={number:.10g} is out of range: use {span(setting)} {setting.unit}".rstrip()
    if high is not None and number > high:
        return (
            f"{setting.name}={number:.10g} is out of range: use {low or 0:.10g} to {high:.10g} {setting.unit}".rstrip()
        )
    return ""


def _boolean_fault(setting: Setting, value: object) -> str:
    return "" if str(value) in ("0", "1", "True", "False") else f"{setting.name}={value!r} is neither 0 nor 1"


def _choice_fault(setting: Setting, value: object) -> str:
    if reason := dict(setting.refused).get(str(value)):
        return f"{setting.name}={value} {reason}"
    if str(value) in setting.choices:
        return ""
    return f"{setting.name}={value!r} is none of {', '.join(setting.choices)}"


def _text_fault(setting: Setting, value: object) -> str:
    if setting.pattern and not re.fullmatch(setting.pattern, str(value)):
        return f"{setting.name}={value!r} is not in the form it takes: {setting.help}"
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
        others = " or of a ".join(dict.fromkeys(setting.scope for setting in elsewhere))
        return f"{name} is no setting of a {scope}, but of a {others}: give it there"
    return f"{name} is no setting of this pooler: look at its list of settings for the right name"


def _another_release(named: list[Setting], version: Version) -> str:
    """What to say where none of a name's records is this release's: a name may have one for each of several spans."""
    name, here = named[0].name, _dotted(version)
    coming = [setting.since for setting in named if setting.since > version]
    if coming:
        return f"{name} came with {_dotted(min(coming))}, and this is {here}: leave it out, or upgrade"
    gone = max(setting.until or NO_VERSION for setting in named)
    return f"{name} is gone since {_dotted(gone)}, and this is {here}: leave it out"


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
