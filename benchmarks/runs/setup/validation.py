"""Refuses conditions before a run is queued: what no server would take, or what a protected one must not be given."""

from typing import Any

from django.utils.translation import gettext as _

from benchmarks.errors import InvalidOptions, Refused
from benchmarks.library.settings_profiles import restart, validation
from benchmarks.models import SettingsProfile
from benchmarks.runs.setup import vacuum_checkpoint
from benchmarks.runs.setup.options import CLUSTER
from benchmarks.targets.resolve import Target

NEED_CLUSTER = ("checkpoint", "vacuum", "settings_profile")


def guard(target: Target, options: dict[str, Any], confirm: str = "") -> None:
    """Raise `InvalidOptions` and `Refused` with the remedy; query the cluster only for a profile or a checkpoint."""
    if target.cluster is None:
        return _refuse_without_cluster(target, options)
    if options.get("checkpoint") and (why_not := vacuum_checkpoint.why_no_checkpoint(target.cluster)):
        raise InvalidOptions({"checkpoint": [why_not]})
    name = options.get("settings_profile")
    if not name:
        return
    profile = SettingsProfile.objects.filter(name=name).first()
    if profile is None:
        raise InvalidOptions({"settings_profile": [_why_unknown(name)]})
    if target.cluster.protected and confirm != target.database:
        raise Refused(
            _(
                "cluster %(cluster)s is protected, and the settings profile %(profile)s changes it for the time of the "
                "run: type the database's name, %(database)s, to go on"
            )
            % {"cluster": target.cluster.name, "profile": name, "database": target.database}
        )
    verdict = validation.check(target.cluster, profile.values, role=target.login, database=target.database)
    if verdict.problems:
        raise InvalidOptions({"settings_profile": [f"{name}: {problem}" for problem in verdict.problems]})
    if verdict.to_restart and restart.command_for(target.cluster) is None:
        raise InvalidOptions({"settings_profile": [_why_no_restart(name, verdict, target)]})


def _why_unknown(name: str) -> str:
    known = ", ".join(SettingsProfile.objects.values_list("name", flat=True)[:20])
    if known:
        return _("there is no settings profile %(name)s: use one of %(known)s") % {"name": repr(name), "known": known}
    return _("there is no settings profile %(name)s: make one first") % {"name": repr(name)}


def _refuse_without_cluster(target: Target, options: dict[str, Any]) -> None:
    """Refuse what the panel does on the server itself, where the server is not registered."""
    asked = [name for name in NEED_CLUSTER if options.get(name)]
    asked += ["idle_at"] if options.get("idle_connections") and options.get("idle_at") == CLUSTER else []
    if asked:
        message = _("no cluster is registered behind %(place)s: register it and name it there, or leave this out") % {
            "place": target.place
        }
        raise InvalidOptions({name: [message] for name in asked})


def _why_no_restart(name: str, verdict: validation.Verdict, target: Target) -> str:
    return _(
        "%(profile)s: %(settings)s would need a restart of %(place)s, which the panel may not do: leave "
        "them out, or name a command for it in POOLDECK_RESTART_FILE"
    ) % {"profile": name, "settings": ", ".join(verdict.to_restart), "place": target.place}
