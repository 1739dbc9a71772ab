"""The one check of who may have which settings: asked where profiles and playbooks are saved, and where runs start.

A value that depends on the server (its memory, its standbys) is checked by `validation.check` at the start of a run.
"""

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from benchmarks.errors import InvalidFields
from benchmarks.library.settings_profiles import limits, tuning


class NotAllowed(InvalidFields):
    """Settings that need the scope admin; `errors` are by field."""

    status = 403


def refuse(values: Mapping[str, str], *, is_admin: bool, field: str) -> None:
    """Raise `NotAllowed` under that field where one who is no admin asks for more than tuning."""
    if not is_admin and (reasons := beyond_tuning(values)):
        raise NotAllowed({field: reasons})


def beyond_tuning(values: Mapping[str, str]) -> list[str]:
    """Return why these settings need the scope admin on any server, as sentences."""
    names = tuning.for_admins(values)
    reasons = [_more_than_tuning(names)] if names else []
    return reasons + [limits.only(name, " / ".join(limits.CHOICES[name])) for name in _wrong_choices(values)]


def _more_than_tuning(names: Iterable[str]) -> str:
    return _("%(names)s: more than tuning, which asks for the scope admin; leave it out") % {"names": ", ".join(names)}


def _wrong_choices(values: Mapping[str, str]) -> list[str]:
    """Return the settings with a choice that may keep the server from starting."""
    allowed = limits.CHOICES
    return [name for name, value in values.items() if name in allowed and value.strip().lower() not in allowed[name]]
