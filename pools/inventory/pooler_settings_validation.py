"""Validates settings, limits and files of a pooler against the catalog of its kind and its detected release."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.models import Pooler, identifiers
from pools.poolers import KINDS, pem, settings_schema
from pools.poolers.settings_schema import Scope, Setting, Type, Version

Problems = Iterator[tuple[str, str]]
Values = Mapping[str, object]
LARGEST_FILE = 256 * 1024  # characters
GIVEN_PREFIX = "pooldeck_"  # prefix of the files that the panel writes into a pooler's folder
NO_VALUE = "-"
OF_ANOTHER_RELEASE = gettext_lazy("Of another release")


@dataclass(frozen=True)
class Spec:
    """The settings and files of a pooler after a change; `files` are the given ones by setting, in clear."""

    settings: Values
    files: Mapping[str, str] = field(default_factory=dict, repr=False)


def release_of(pooler: Pooler) -> Version:
    """Return the release that its settings are for: the detected one, else the oldest supported."""
    return KINDS[pooler.kind].version_of(pooler.server_version)


def manual_url(pooler: Pooler, setting: Setting) -> str:
    """Return the address of a setting in the manual of the pooler's release; empty where no manual has it."""
    return settings_schema.manual_url(KINDS[pooler.kind].manual, setting, release_of(pooler))


def offered(pooler: Pooler, scope: Scope) -> dict[str, Setting]:
    """Return the settings that this pooler's release accepts, by name, in the catalog's order."""
    found = settings_schema.offered(KINDS[pooler.kind].catalog, scope, release_of(pooler))
    return {setting.name: setting for setting in found}


def unknown_settings(pooler: Pooler, scope: Scope, values: Values) -> list[Setting]:
    """Return a record for each stored value that the pooler's release does not know, so that it can be emptied."""
    known, line = (
        offered(pooler, scope),
        _("This release does not accept the setting: empty it, or nothing is applied."),
    )
    return [Setting(name, scope, Type.TEXT, "", line, str(OF_ANOTHER_RELEASE)) for name in values if name not in known]


def files_offered(pooler: Pooler) -> dict[str, Setting]:
    """Return the settings of the program whose value is a file that a person gives."""
    return {name: setting for name, setting in offered(pooler, Scope.PROGRAM).items() if setting.type == Type.FILE}


def removes(setting: Setting | None, value: object) -> bool:
    """Return whether a value removes its setting: null does, and an empty text where it can't be a value."""
    meant = setting is not None and setting.may_be_empty
    return value is None or (isinstance(value, str) and not value.strip() and not meant)


def typed(setting: Setting, value: object) -> object:
    """Return a valid value as it is stored: whole numbers, 0 or 1 for off and on, and trimmed text."""
    text = str(int(value)) if isinstance(value, bool) else str(value).strip()
    if setting.type in (Type.NUMBER, Type.BOOLEAN):
        return int(text)
    if setting.type == Type.SECONDS:
        return float(text) if "." in text else int(text)
    return text


def value_problems(pooler: Pooler, scope: Scope, values: Values) -> Problems:
    """Yield (name, message) for values that the release would refuse or misread, or that are given as files."""
    catalogd, files = KINDS[pooler.kind].catalog, files_offered(pooler)
    paths = {name for name in values if scope == Scope.PROGRAM and name in files}
    plain = {name: value for name, value in values.items() if name not in paths}
    yield from settings_schema.problems(catalogd, scope, plain, release_of(pooler))
    for name in paths:
        text = _("%(setting)s is the path of a file: give the file itself, and the panel writes and names it")
        yield name, text % {"setting": name}


def user_problems(pooler: Pooler, user: str) -> Problems:
    """Yield why a user can't have limits of its own; the field is `user`."""
    if not offered(pooler, Scope.USER):
        text = _("%(kind)s has no limits of users: give them to its pools")
        yield "user", text % {"kind": pooler.get_kind_display()}
    elif not identifiers.POOL_NAME.fullmatch(user):
        text = _("%(user)r can't have limits: a name there has only the letters a-z A-Z, digits, and _ . -")
        yield "user", text % {"user": user}


def file_problems(pooler: Pooler, contents: Mapping[str, str]) -> Problems:
    """Yield why a file can't be given, or this release can't read its content."""
    files, release = files_offered(pooler), release_of(pooler)
    for name, content in contents.items():
        if name not in files:
            text = _("%(setting)s is not a file that this pooler accepts: choose one of %(choices)s")
            yield name, text % {"setting": name, "choices": ", ".join(files) or _("none")}
        elif not content.strip():
            yield name, _("%(setting)s is empty: give its content, or remove the file") % {"setting": name}
        elif len(content) > LARGEST_FILE or "\0" in content:
            text = _("%(setting)s is longer than %(kilobytes)s kB or no text: give the right file")
            yield name, text % {"setting": name, "kilobytes": LARGEST_FILE // 1024}
        elif (check := files[name].check) and (fault := check(content, release)):
            yield name, fault


def pair_problems(pooler: Pooler, spec: Spec) -> Problems:
    """Yield the private keys that do not belong to the certificate beside them."""
    for name, setting in files_offered(pooler).items():
        both = name in spec.files and setting.key in spec.files
        if both and (fault := pem.pair_fault(spec.files[name], spec.files[setting.key])):
            yield setting.key, fault


def disagreements(pooler: Pooler, spec: Spec, live: Mapping[str, str] | None) -> Problems:
    """Yield files that refer to what another file lacks; none where the operator's own file may have it."""
    for name, setting in files_offered(pooler).items():
        if not setting.agrees or name not in spec.files:
            continue
        other, fault_of = setting.agrees
        operators = other not in spec.files and (live is None or _has(spec, other, live))
        if not operators and (fault := fault_of(spec.files[name], spec.files.get(other, ""))):
            yield name, f"{name}: {fault}"


def asks_for_others(pooler: Pooler, values: Values) -> bool:
    """Return whether some of these values need other settings, so that the operator's must be known."""
    known = offered(pooler, Scope.PROGRAM)
    return any(str(value) in dict(known[name].needs) for name, value in values.items() if name in known)


def unsupported(pooler: Pooler, spec: Spec, changed: Iterable[str], live: Mapping[str, str] | None) -> Problems:
    """Yield (name, message) for settings of `changed` without others that they need.

    Those may be in the spec, or the operator's own in SHOW CONFIG (`live`). None means unknown: nothing is reported,
    and the preflight of the apply finds out.
    """
    known = offered(pooler, Scope.PROGRAM)
    for name in changed if live is not None else ():
        value = "" if name in spec.files else str(spec.settings.get(name, NO_VALUE))
        needs = dict(known[name].needs).get(value, ()) if name in known else ()
        absent = [other for other in needs if not _has(spec, other, live or {})]
        if absent:
            params = {"setting": f"{name}={value}" if value else name, "missing": ", ".join(absent)}
            yield name, _("%(setting)s needs %(missing)s: give what is missing too") % params


def _has(spec: Spec, name: str, live: Mapping[str, str]) -> bool:
    if name in spec.files or name in spec.settings:
        return True
    return bool(live.get(name)) and not PurePath(live[name]).name.startswith(GIVEN_PREFIX)
