"""Saves and removes settings profiles."""

import re
from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.errors import IllegalTransition, InvalidFields
from benchmarks.library.settings_profiles import gate, tuning
from benchmarks.library.settings_profiles.parsing import MOST_SETTINGS
from benchmarks.models import AppliedProfile, SettingsProfile
from core.accounts.models import FIRST_TEAM, Team

_NAME = re.compile(r"[\w.+ -]{1,100}")
_SETTING = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?")
VALUE_CHARACTERS = 500


class InvalidProfile(InvalidFields):
    """Input that is not a profile."""


def create(
    *,
    name: str,
    values: Mapping[str, str],
    description: str = "",
    author: User | None = None,
    is_admin: bool,
    team: Team | None = None,
) -> SettingsProfile:
    """Create a profile of `team`, or of the first one.

    Raises `InvalidProfile`, and `gate.NotAllowed` for more than tuning by one who is no admin.
    """
    profile = SettingsProfile(author=author, team_id=team.pk if team else FIRST_TEAM)
    return _save(profile, name, values, description, is_admin)


def change(
    profile: SettingsProfile, *, name: str, values: Mapping[str, str], description: str = "", is_admin: bool
) -> SettingsProfile:
    """Change name or values, for runs to come; a run keeps what it put in force. Raises as `create`."""
    return _save(profile, name, values, description, is_admin)


def remove(profile: SettingsProfile) -> None:
    """Delete it; raise `IllegalTransition` while a run has it in force, which names it in its options."""
    current = AppliedProfile.objects.filter(restored_at=None).select_related("run", "cluster")
    for row in current:
        if row.run.options.get("settings_profile") == profile.name:
            raise IllegalTransition(
                _("%(profile)s is in force on %(cluster)s for %(run)s: wait until it has ended")
                % {"profile": profile, "cluster": row.cluster, "run": row.run}
            )
    profile.delete()


def _save(
    profile: SettingsProfile, name: str, values: Mapping[str, str], description: str, is_admin: bool
) -> SettingsProfile:
    errors: dict[str, list[str]] = {}
    name = name.strip()
    if not _NAME.fullmatch(name):
        errors["name"] = [_("a name has 1 to 100 letters, digits, blanks and . _ + -")]
    if faults := _faults(values):
        errors["values"] = faults
    if errors:
        raise InvalidProfile(errors)
    before = profile.values or {}
    new = {name: value for name, value in values.items() if before.get(name) != value}
    gate.refuse(new, is_admin=is_admin, field="values")
    profile.name, profile.description, profile.values = name, description.strip()[:500], dict(values)
    try:
        with transaction.atomic():
            profile.save()
    except IntegrityError:
        raise InvalidProfile(
            {"name": [_("the name %(name)r is taken: choose another name") % {"name": name}]}
        ) from None
    return profile


def _faults(values: Mapping[str, str]) -> list[str]:
    if not values:
        return [_("a profile holds at least one setting")]
    if len(values) > MOST_SETTINGS:
        text = ngettext(
            "%(count)s setting is too many: use at most %(most)s",
            "%(count)s settings are too many: use at most %(most)s",
            len(values),
        )
        return [text % {"count": len(values), "most": MOST_SETTINGS}]
    faults = [
        _("%(name)s is not the name of a setting: enter one such as work_mem") % {"name": repr(name)}
        for name in values
        if not _SETTING.fullmatch(name)
    ]
    faults += [why for name in values if (why := tuning.why_forbidden(name))]
    for name, value in values.items():
        if not isinstance(value, str) or len(value) > VALUE_CHARACTERS or any(c in value for c in "\x00\r\n"):
            faults.append(
                _("%(name)s: a value is one line of at most %(most)s characters")
                % {"name": name, "most": VALUE_CHARACTERS}
            )
    return faults
