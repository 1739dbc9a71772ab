"""A settings profile in force for the time of a run, and everything as it was after it."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.errors import Refused
from benchmarks.library.settings_profiles import apply, validation
from benchmarks.models import SettingsProfile
from benchmarks.runs.setup.base import SetupContext


@contextmanager
def in_force(held: SetupContext) -> Iterator[None]:
    """Puts it in force where one was named; a worker that dies leaves it to the reaper. Raises `Refused`."""
    name = held.run.options.get("settings_profile")
    if not name:
        yield
        return
    profile = SettingsProfile.objects.filter(name=name).first()
    if profile is None or held.run.cluster is None:
        raise Refused(f"there is no settings profile {name!r} any more: choose another one")
    held.report(f"putting the settings profile {name} in force")
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
