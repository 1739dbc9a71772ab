"""Refuses conditions before a run is queued: what no server would take, or what a protected one is not to be given."""

from typing import Any

from benchmarks.errors import InvalidOptions, Refused
from benchmarks.library.settings_profiles import restart, validation
from benchmarks.models import SettingsProfile
from benchmarks.runs.setup import vacuum_checkpoint
from benchmarks.runs.setup.options import CLUSTER
from benchmarks.targets.resolve import Target

NEED_CLUSTER = ("checkpoint", "vacuum", "settings_profile")


def guard(target: Target, options: dict[str, Any], confirm: str = "") -> None:
    """Raises `InvalidOptions` and `Refused`, with the remedy; asks the cluster only where a profile or a checkpoint is
    wanted of it."""
    if target.cluster is None:
        return _refuse_without_cluster(target, options)
    if options.get("checkpoint") and (why_not := vacuum_checkpoint.why_no_checkpoint(target.cluster)):
        raise InvalidOptions({"checkpoint": [why_not]})
    name = options.get("settings_profile")
    if not name:
        return
    profile = SettingsProfile.objects.filter(name=name).first()
    if profile is None:
        known = ", ".join(SettingsProfile.objects.values_list("name", flat=True)[:20]) or "make one first"
        raise InvalidOptions({"settings_profile": [f"there is no settings profile {name!r}: {known}"]})
    if target.cluster.protected and confirm != target.database:
        raise Refused(
            f"cluster {target.cluster.name} is protected, and the settings profile {name} changes it for the time of "
            f"the run: type the database's name, {target.database}, to go on"
        )
    verdict = validation.check(target.cluster, profile.values, role=target.login, database=target.database)
    if verdict.problems:
        raise InvalidOptions({"settings_profile": [f"{name}: {problem}" for problem in verdict.problems]})
    if verdict.to_restart and restart.command_for(target.cluster) is None:
        raise InvalidOptions({"settings_profile": [_why_no_restart(name, verdict, target)]})


def _refuse_without_cluster(target: Target, options: dict[str, Any]) -> None:
    """What the panel does at the server itself, past the pooler, it can do only where that is registered."""
    asked = [name for name in NEED_CLUSTER if options.get(name)]
    asked += ["idle_at"] if options.get("idle_connections") and options.get("idle_at") == CLUSTER else []
    if asked:
        message = f"no cluster is registered behind {target.place}: register it and name it there, or leave this out"
        raise InvalidOptions({name: [message] for name in asked})


def _why_no_restart(name: str, verdict: validation.Verdict, target: Target) -> str:
    return (
        f"{name}: {', '.join(verdict.to_restart)} would need a restart of {target.place}, which the panel may "
        "not do: leave them out, or name a command for it in POOLDECK_RESTART_FILE"
    )
