"""Saving and removing settings profiles."""

import re
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from benchmarks.errors import IllegalTransition, InvalidFields
from benchmarks.library.settings_profiles import tuning
from benchmarks.library.settings_profiles.parsing import MOST_SETTINGS
from benchmarks.models import AppliedProfile, SettingsProfile

_NAME = re.compile(r"[\w.+ -]{1,100}")
_SETTING = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?")
VALUE_CHARACTERS = 500


class InvalidProfile(InvalidFields):
    """What was given is no profile."""


class NotAllowed(InvalidProfile):
    """It holds more than the settings of tuning, which takes an admin."""

    status = 403


def create(
    *, name: str, values: Mapping[str, str], description: str = "", author: Any = None, is_admin: bool = True
) -> SettingsProfile:
    """A new profile; raises `InvalidProfile`, and `NotAllowed` for more than tuning by somebody who is no admin."""
    return _save(SettingsProfile(author=author), name, values, description, is_admin)


def change(
    profile: SettingsProfile, *, name: str, values: Mapping[str, str], description: str = "", is_admin: bool = True
) -> SettingsProfile:
    """Another name or other values, for runs to come; one that is on keeps what it put in force. Raises as `create`."""
    return _save(profile, name, values, description, is_admin)


def _refuse_beyond_tuning(before: Mapping[str, str], values: Mapping[str, str], is_admin: bool) -> None:
    new = [name for name, value in values.items() if before.get(name) != value]
    if names := [] if is_admin else tuning.for_admins(new):
        listed = ", ".join(names)
        raise NotAllowed({"values": [f"{listed}: more than tuning, which asks for the scope admin; leave it out"]})


def remove(profile: SettingsProfile) -> None:
    """Forget it; raises `IllegalTransition` while a run has it in force, which names it in its options."""
    current = AppliedProfile.objects.filter(restored_at=None).select_related("run", "cluster")
    for row in current:
        if row.run.options.get("settings_profile") == profile.name:
            raise IllegalTransition(f"{profile} is in force on {row.cluster} for {row.run}: wait until it has ended")
    profile.delete()


def _save(
    profile: SettingsProfile, name: str, values: Mapping[str, str], description: str, is_admin: bool
) -> SettingsProfile:
    errors: dict[str, list[str]] = {}
    name = name.strip()
    if not _NAME.fullmatch(name):
        errors["name"] = ["a name has 1 to 100 letters, digits, blanks and . _ + -"]
    if faults := _faults(values):
        errors["values"] = faults
    if errors:
        raise InvalidProfile(errors)
    _refuse_beyond_tuning(profile.values or {}, values, is_admin)
    profile.name, profile.description, profile.values = name, description.strip()[:500], dict(values)
    try:
        with transaction.atomic():
            profile.save()
    except IntegrityError:
        raise InvalidProfile({"name": [f"there is a profile {name!r} already: choose another name"]}) from None
    return profile


def _faults(values: Mapping[str, str]) -> list[str]:
    if not values:
        return ["a profile holds at least one setting"]
    if len(values) > MOST_SETTINGS:
        return [f"{len(values)} settings are too many: use at most {MOST_SETTINGS}"]
    faults = [f"{name!r} is no name of a setting" for name in values if not _SETTING.fullmatch(name)]
    faults += [why for name in values if (why := tuning.why_forbidden(name))]
    for name, value in values.items():
        if not isinstance(value, str) or len(value) > VALUE_CHARACTERS or any(c in value for c in "\x00\r\n"):
            faults.append(f"{name}: a value is one line of at most {VALUE_CHARACTERS} characters")
    return faults
