"""Puts a profile in force by ALTER SYSTEM, verifies it, and restores what was before, whatever happens in between.

What ALTER SYSTEM had set before is stored in the database before the server is touched, so that any worker can undo it.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

import psycopg
from django.utils import timezone
from django.utils.translation import gettext as _
from psycopg import sql

from benchmarks.errors import Refused
from benchmarks.library.settings_profiles import conflicts, dry_start, privileges, validation
from benchmarks.library.settings_profiles import restart as server_restart
from benchmarks.library.settings_profiles.guc_values import read
from benchmarks.models import AppliedProfile, Run
from benchmarks.models.conditions import ProfileInForce
from benchmarks.targets.resolve import Target
from pools.clusters import connect
from pools.errors import ClusterUnreachable
from pools.models import Cluster

log = logging.getLogger(__name__)
T = TypeVar("T")
Wanted = Mapping[str, str | None]  # name → the value that ALTER SYSTEM is to hold; None: no value

APPLICATION_NAME = "pooldeck-profiles"
IN_FORCE_WITHIN_S = 10.0
UP_WITHIN_S = 60.0
POLL_EVERY_S = 0.1
_AUTO = """
    SELECT DISTINCT ON (name) name, setting FROM pg_file_settings
     WHERE sourcefile = current_setting('data_directory') || '/postgresql.auto.conf' AND name = ANY(%s)
     ORDER BY name, seqno DESC
"""


def applied_on(cluster: Cluster) -> AppliedProfile | None:
    """Return the profile that is in force on the cluster and not restored yet."""
    return AppliedProfile.objects.filter(cluster=cluster, restored_at=None).select_related("run").first()


def apply_profile(run: Run, cluster: Cluster, values: Mapping[str, str]) -> AppliedProfile:
    """Apply, reload or restart, and verify; raise `Refused` with everything as it was.

    `take_back` closes the row that it returns.
    """
    _take_back_own(run)
    login = Target(cluster, run.database, pool=run.pool, role=run.role).login
    verdict = validation.check(cluster, values, is_admin=run.by_admin, role=login, database=run.database)
    if verdict.problems:
        raise Refused("; ".join(verdict.problems))
    if other := applied_on(cluster):
        raise Refused(
            _("the settings profile of %(run)s is still in force on %(name)s: wait until it is not")
            % {"run": other.run, "name": cluster.name}
        )
    if verdict.to_restart and server_restart.command_for(cluster) is None:
        raise Refused(
            _(
                "%(settings)s would need a restart of %(name)s, which the panel may not do: leave them out, or "
                "name a command for it in POOLDECK_RESTART_FILE"
            )
            % {"settings": ", ".join(verdict.to_restart), "name": cluster.name}
        )
    with _session(cluster) as connection:
        before = _in_auto_conf(connection, list(values))
        if verdict.to_restart and (fault := dry_start.problem(connection, values)):
            raise Refused(
                _("%(name)s would not start with these settings (a dry start reports: %(fault)s)")
                % {"name": cluster.name, "fault": fault}
            )
    kept = {"values": dict(values), "before": before, "restarted": bool(verdict.to_restart)}
    kept |= {"cluster": cluster, "restored_at": None, "error": ""}
    row, _is_new = AppliedProfile.objects.update_or_create(run=run, defaults=kept)
    try:
        reported_at = _report(cluster, values)
        if verdict.to_restart:
            _restart(cluster, before)
        _verify(cluster, values, reported_at, UP_WITHIN_S if verdict.to_restart else IN_FORCE_WITHIN_S)
    except BaseException:
        take_back(row)
        raise
    return row


def _take_back_own(run: Run) -> None:
    """Take back what the run left as it was prepared before, where the metadata database went away meanwhile."""
    for row in AppliedProfile.objects.filter(run=run, restored_at=None).select_related("cluster", "run"):
        take_back(row)


def follows(cluster: Cluster, values: Mapping[str, str]) -> bool:
    """Return whether ALTER SYSTEM and the running server hold these values; False where the server does not answer."""
    with suppress(ClusterUnreachable, psycopg.OperationalError), _session(cluster) as connection:
        return not _unsupported(connection, values)
    return False


def take_back(row: AppliedProfile) -> bool:
    """Restore what was before; return whether it is restored. A failure is stored in the row, and retried later.

    Settings that somebody else changed in the meantime are left; row and run name them. Nothing is done where another
    worker has restored it: a later run may have put the same values in force by now.
    """
    restored = AppliedProfile.objects.filter(pk=row.pk, restored_at__isnull=False)
    closed = restored.values_list("restored_at", "error").first()
    if closed:  # `refresh_from_db` would take another object for the run: notes are made in the one that is here
        row.restored_at, row.error = closed
        return True
    if row.cluster is None:
        return _close(row, [])
    try:
        not_restored = _restore(row, row.cluster)
    except (Refused, ClusterUnreachable, psycopg.Error) as error:
        error_text = _("settings of %(cluster)s are not back as they were: %(error)s") % {
            "cluster": row.cluster,
            "error": str(error).splitlines()[0],
        }
        if error_text != row.error:
            log.warning("run %s: %s", row.run_id, error_text)
        AppliedProfile.objects.filter(pk=row.pk).update(error=error_text)
        row.error = error_text
        return False
    return _close(row, not_restored)


def _close(row: AppliedProfile, left: list[str]) -> bool:
    row.restored_at, row.error = timezone.now(), "; ".join(left)
    row.save(update_fields=["restored_at", "error"])
    if left:
        log.warning("run %s: %s", row.run_id, row.error)
        _note(row, left)
    return True


def _note(row: AppliedProfile, left: list[str]) -> None:
    """Add to the run's conditions what was left, even where the run has ended."""
    run = row.run
    name = run.options.get("settings_profile", "")
    named: ProfileInForce = {"name": name, "values": row.values, "before": row.before}
    noted: ProfileInForce = {**run.conditions.get("settings_profile", named), "left": left}
    run.conditions = {**run.conditions, "settings_profile": noted}
    Run.objects.filter(pk=run.pk).update(conditions=run.conditions)


def _restore(row: AppliedProfile, cluster: Cluster) -> list[str]:
    """Restore the server, except for what is not the panel's any more; return that as sentences."""
    with _session(cluster) as connection:
        now = _in_auto_conf(connection, list(row.before))
        restored = conflicts.to_restore(row.values, row.before, now)
        waiting = _waiting_for_restart(connection, restored)
    if restored:
        reported_at = _report(cluster, restored)
        # a setting that came into force by a restart waits for another one now, and did not before
        restart = _after_reload(cluster, reported_at, lambda session: _waiting_for_restart(session, restored)) - waiting
        if restart:
            _restart(cluster, restored)
        _verify(cluster, restored, reported_at, UP_WITHIN_S if restart else IN_FORCE_WITHIN_S)
    return conflicts.left_as_they_are(row.values, row.before, now)


def _waiting_for_restart(connection: connect.Connection, names: Iterable[str]) -> set[str]:
    known = validation.known_settings(connection, list(names))
    return {one.name for one in known.values() if one.pending_restart}


def _report(cluster: Cluster, wanted: Wanted) -> datetime:
    """Set these by ALTER SYSTEM and reload; return the server's time before the reload."""
    with _session(cluster) as connection:
        for name, value in wanted.items():
            _alter(cluster, connection, name, value)
        row = connection.execute("SELECT clock_timestamp(), pg_reload_conf()").fetchone()
    reported_at: datetime = row[0] if row else timezone.now()
    return reported_at


def _restart(cluster: Cluster, before: Wanted) -> None:
    """Restart the server; where it does not start, have `before` put back, or say which settings people must remove."""
    try:
        server_restart.restart(cluster)
    except Refused as error:
        named = {"error": error, "names": ", ".join(before)}
        if _undone(cluster, before):
            raise Refused(
                _("%(error)s; %(names)s were put back as they were, and the server runs again") % named
            ) from None
        raise Refused(
            _("%(error)s; if the server stays down, take %(names)s out of postgresql.auto.conf in its data directory")
            % named
        ) from None


def _undone(cluster: Cluster, before: Wanted) -> bool:
    """Return whether the operator's command put the settings back and started the server."""
    try:
        return server_restart.undo(cluster, before)
    except Refused as error:
        log.warning("cluster %s: %s", cluster.pk, error)
        return False


def _alter(cluster: Cluster, connection: connect.Connection, name: str, value: str | None) -> None:
    identifier = sql.SQL(".").join(map(sql.Identifier, name.split(".")))
    if value is None:
        command = sql.SQL("ALTER SYSTEM RESET {}").format(identifier)
    else:
        command = sql.SQL("ALTER SYSTEM SET {} TO {}").format(identifier, sql.Literal(value))
    try:
        connection.execute(command)
    except psycopg.Error as error:
        raise Refused(
            _("%(cluster)s refused to change %(name)s: %(error)s")
            % {"cluster": cluster, "name": name, "error": str(error).splitlines()[0]}
        ) from None


def _after_reload(
    cluster: Cluster,
    reported_at: datetime,
    observation: Callable[[connect.Connection], T],
    within_s: float = IN_FORCE_WITHIN_S,
) -> T:
    """Return an observation in a new session, once the server has reloaded since then; raise `Refused` after a while.

    A new session starts with what the server itself loaded last, so a reload is complete by then.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with suppress(ClusterUnreachable, psycopg.OperationalError), _session(cluster) as connection:
            row = connection.execute("SELECT pg_conf_load_time() >= %s", (reported_at,)).fetchone()
            if row and row[0]:
                return observation(connection)
        time.sleep(POLL_EVERY_S)
    raise Refused(
        _(
            "%(cluster)s did not read its configuration files within %(within_s)s s: check that it answers, "
            "and check pg_file_settings.error"
        )
        % {"cluster": cluster, "within_s": f"{within_s:g}"}
    )


def _verify(cluster: Cluster, wanted: Wanted, reported_at: datetime, within_s: float) -> None:
    """Raise `Refused` naming what is not as wanted once the server has loaded it."""
    if unsupported := _after_reload(cluster, reported_at, lambda session: _unsupported(session, wanted), within_s):
        raise Refused(_("%(cluster)s does not follow: %(reason)s") % {"cluster": cluster, "reason": unsupported})


def _unsupported(connection: connect.Connection, wanted: Wanted) -> str:
    """Return a sentence on settings that ALTER SYSTEM or the running server lacks; empty where all are in force."""
    if _in_auto_conf(connection, list(wanted)) != dict(wanted):
        return _("postgresql.auto.conf holds other values")
    for name, known in validation.known_settings(connection, list(wanted)).items():
        value = wanted[name]
        if known.pending_restart:
            return _("%(name)s waits for a restart") % {"name": name}
        if value is None or read(known, value) == known.setting:
            continue
        if known.source == "command line":
            return _("%(name)s has no effect, since the server's command line gives it") % {"name": name}
        # a role's or a database's own value hides the server's from this session
        if known.source == "configuration file":
            return _("%(name)s is %(shown)s instead of %(value)s") % {
                "name": name,
                "shown": known.shown,
                "value": value,
            }
    return ""


def _in_auto_conf(connection: connect.Connection, names: list[str]) -> dict[str, str | None]:
    """Return the values of these settings in postgresql.auto.conf; raise `Refused` where the role may not read it."""
    try:
        found: dict[str, str] = dict(connection.execute(_AUTO, (names,)).fetchall())
    except psycopg.errors.InsufficientPrivilege:
        raise Refused(str(privileges.UNREADABLE)) from None
    return {name: found.get(name) for name in names}


def _session(cluster: Cluster) -> connect.Connection:
    return connect.connect(cluster, application_name=APPLICATION_NAME)
