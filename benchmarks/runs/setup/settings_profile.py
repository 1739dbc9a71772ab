"""A settings profile: refused before a run is queued, or in force during it; all settings are restored after it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from benchmarks.errors import InvalidOptions, Refused
from benchmarks.library.settings_profiles import apply, gate, restart, shared, validation
from benchmarks.models import AppliedProfile, SettingsProfile
from benchmarks.models.conditions import ProfileInForce
from benchmarks.runs.setup.base import SetupContext
from benchmarks.targets.resolve import Target
from core.accounts.access import Access
from pools.models import Cluster


def guard(
    target: Target, cluster: Cluster, name: str, confirm: str, *, is_admin: bool, access: Access | None = None
) -> None:
    """Raise `InvalidOptions`, `NotAllowed` and `Refused` for a profile that the run may not have; query the cluster."""
    every = SettingsProfile.objects.all()
    visible = access.visible(every) if access else every
    profile = visible.filter(name=name).first()
    if profile is None:
        raise InvalidOptions({"settings_profile": [_why_unknown(name, visible)]})
    if cluster.protected and confirm != target.database:
        raise Refused(
            _(
                "cluster %(cluster)s is protected, and the settings profile %(profile)s changes it for the time of the "
                "run: type the database's name, %(database)s, to go on"
            )
            % {"cluster": cluster.name, "profile": name, "database": target.database}
        )
    gate.refuse(profile.values, is_admin=is_admin, field="settings_profile")
    verdict = validation.check(cluster, profile.values, is_admin=is_admin, role=target.login, database=target.database)
    if verdict.problems:
        raise InvalidOptions({"settings_profile": [f"{name}: {problem}" for problem in verdict.problems]})
    if verdict.to_restart and restart.command_for(cluster) is None:
        raise InvalidOptions({"settings_profile": [_why_no_restart(name, verdict, target)]})


def _why_unknown(name: str, visible: QuerySet[SettingsProfile]) -> str:
    known = ", ".join(visible.values_list("name", flat=True)[:20])
    if known:
        return _("there is no settings profile %(name)s: use one of %(known)s") % {"name": repr(name), "known": known}
    return _("there is no settings profile %(name)s: make one first") % {"name": repr(name)}


def _why_no_restart(name: str, verdict: validation.Verdict, target: Target) -> str:
    return _(
        "%(profile)s: %(settings)s would need a restart of %(place)s, which the panel may not do: leave "
        "them out, or name a command for it in POOLDECK_RESTART_FILE"
    ) % {"profile": name, "settings": ", ".join(verdict.to_restart), "place": target.place}


@contextmanager
def in_force(context: SetupContext) -> Iterator[None]:
    """Put a profile in force where one was named; the reaper restores what a dead worker left.

    Where it took a restart, the runs of an experiment share it. Its end waits for the metadata database.
    Raises `Refused`.
    """
    name = context.run.options.get("settings_profile")
    if not name:
        shared.end_before(context.run)
        yield
        return
    profile = SettingsProfile.objects.usable_in(context.run).filter(name=name).first()
    if profile is None or context.run.cluster is None:
        raise Refused(_("there is no settings profile %(name)s any more: choose another one") % {"name": repr(name)})
    context.report(_("putting the settings profile %(name)s in force") % {"name": name})
    warnings = validation.check(context.run.cluster, profile.values, is_admin=context.run.by_admin).warnings
    row = shared.take_over(context.run, context.run.cluster, profile.values)
    row = row or apply.apply_profile(context.run, context.run.cluster, profile.values)
    try:
        noted: ProfileInForce = {"name": name, "values": profile.values, "before": row.before}
        if warnings:
            noted["warnings"] = warnings
        context.note({"settings_profile": noted})
        yield
    finally:
        context.recorder.retry_until_available(partial(_leave, row))
        if row.error:
            context.report(row.error)


def _leave(row: AppliedProfile) -> None:
    if not shared.stays(row):
        apply.take_back(row)
