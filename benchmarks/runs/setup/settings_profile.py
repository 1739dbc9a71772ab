"""A settings profile in force during a run; all settings are restored after it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from benchmarks.library.settings_profiles import apply, validation
from benchmarks.models import SettingsProfile
from benchmarks.runs.setup.base import SetupContext


@contextmanager
def in_force(held: SetupContext) -> Iterator[None]:
    """Put a profile in force where one was named; the reaper restores what a dead worker left. Raises `Refused`."""
    name = held.run.options.get("settings_profile")
    if not name:
        yield
        return
    profile = SettingsProfile.objects.filter(name=name).first()
    if profile is None or held.run.cluster is None:
        raise Refused(_("there is no settings profile %(name)s any more: choose another one") % {"name": repr(name)})
    held.report(_("putting the settings profile %(name)s in force") % {"name": name})
    warnings = validation.check(held.run.cluster, profile.values).warnings
    row = apply.put_in_force(held.run, held.run.cluster, profile.values)
    try:
        noted = {"name": name, "values": profile.values, "before": row.before}
        held.note("settings_profile", noted | ({"warnings": warnings} if warnings else {}))
        yield
    finally:
        apply.take_back(row)
        if row.error:
            held.report(row.error)
