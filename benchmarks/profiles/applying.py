"""Puts a profile in force by ALTER SYSTEM, reads it back, and brings back what was, whatever happens between.

What ALTER SYSTEM had set before stands in the database before the server is touched, so that anybody can undo it.
"""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress

import psycopg
from django.utils import timezone
from psycopg import sql

from benchmarks.errors import Refused
from benchmarks.models import AppliedProfile, Run
from benchmarks.profiles import checking, restarting
from benchmarks.profiles.values import Known, read
from pools.errors import ClusterUnreachable
from pools.models import Cluster
from pools.servers import postgres

log = logging.getLogger(__name__)

APPLICATION_NAME = "pooldeck-profiles"
IN_FORCE_WITHIN_S = 10.0
UP_WITHIN_S = 60.0
LOOK_S = 0.1
_AUTO = """
    SELECT DISTINCT ON (name) name, setting FROM pg_file_settings
     WHERE sourcefile = current_setting('data_directory') || '/postgresql.auto.conf' AND name = ANY(%s)
     ORDER BY name, seqno DESC
"""


def standing_on(cluster: Cluster) -> AppliedProfile | None:
    """The profile that is in force there and not taken back yet."""
    return AppliedProfile.objects.filter(cluster=cluster, restored_at=None).select_related("run").first()


def put_in_force(run: Run, cluster: Cluster, values: Mapping[str, str]) -> AppliedProfile:
    """Apply, reload or restart, and read back; raises `Refused` with everything as it was.

    The row that it answers is closed by `take_back`.
    """
    verdict = checking.check(cluster, values)
    if verdict.problems:
        raise Refused("; ".join(verdict.problems.values()))
    if other := standing_on(cluster):
        raise Refused(f"the settings profile of {other.run} is still in force on {cluster.name}: wait until it is not")
    if verdict.to_restart and restarting.command_for(cluster) is None:
        raise Refused(
            f"{', '.join(verdict.to_restart)} would need a restart of {cluster.name}, which the panel may not do: "
            "leave them out, or name a command for it in POOLDECK_RESTART_FILE"
        )
    with _session(cluster) as connection:
        before = _in_auto_conf(connection, list(values))
    row = AppliedProfile.objects.create(run=run, cluster=cluster, values=dict(values), before=before)
    try:
        _bring(cluster, values, restart=bool(verdict.to_restart))
    except BaseException:
        take_back(row)
        raise
    return row


def take_back(row: AppliedProfile) -> bool:
    """Bring back what was before; whether it is now. A failure stands in the row, and a later look tries again."""
    if row.cluster is None:
        return _close(row)
    try:
        _bring(row.cluster, row.before, restart=_restart_undoes(row))
    except (Refused, ClusterUnreachable, psycopg.Error) as error:
        said = f"settings of {row.cluster} are not back as they were: {str(error).splitlines()[0]}"
        if said != row.error:
            log.warning("run %s: %s", row.run_id, said)
        AppliedProfile.objects.filter(pk=row.pk).update(error=said)
        row.error = said
        return False
    return _close(row)


def _close(row: AppliedProfile) -> bool:
    row.restored_at, row.error = timezone.now(), ""
    row.save(update_fields=["restored_at", "error"])
    return True


def _restart_undoes(row: AppliedProfile) -> bool:
    """Whether a setting of it came into force by a restart: then only another one takes it back."""
    if row.cluster is None:
        return False
    with _session(row.cluster) as connection:
        known = checking.known_settings(connection, list(row.values))
    return any(one.needs_restart and not one.pending_restart and _stands(one, row.values) for one in known.values())


def _stands(known: Known, values: Mapping[str, str]) -> bool:
    return read(known, values[known.name]) == known.setting


def _bring(cluster: Cluster, wanted: Mapping[str, str | None], *, restart: bool) -> None:
    """Let ALTER SYSTEM hold these (None: nothing) and the server follow; raises `Refused` where it does not."""
    with _session(cluster) as connection:
        for name, value in wanted.items():
            _alter(cluster, connection, name, value)
        connection.execute("SELECT pg_reload_conf()")
    if restart:
        _restart(cluster, wanted)
    _wait_in_force(cluster, wanted, restarted=restart)


def _restart(cluster: Cluster, wanted: Mapping[str, str | None]) -> None:
    """A server that does not start can't be asked to forget a setting: then people have to help, and are told how."""
    try:
        restarting.restart(cluster)
    except Refused as error:
        names = ", ".join(wanted)
        raise Refused(
            f"{error}; if the server stays down, take {names} out of postgresql.auto.conf in its data directory"
        ) from None


def _alter(cluster: Cluster, connection: postgres.Connection, name: str, value: str | None) -> None:
    identifier = sql.SQL(".").join(map(sql.Identifier, name.split(".")))
    if value is None:
        command = sql.SQL("ALTER SYSTEM RESET {}").format(identifier)
    else:
        command = sql.SQL("ALTER SYSTEM SET {} TO {}").format(identifier, sql.Literal(value))
    try:
        connection.execute(command)
    except psycopg.Error as error:
        raise Refused(f"{cluster} refused to change {name}: {str(error).splitlines()[0]}") from None


def _wait_in_force(cluster: Cluster, wanted: Mapping[str, str | None], *, restarted: bool) -> None:
    """Until a new session says what is wanted; raises `Refused` naming what does not."""
    deadline = time.monotonic() + (UP_WITHIN_S if restarted else IN_FORCE_WITHIN_S)
    lacking = "it can't be asked"
    while time.monotonic() < deadline:
        with suppress(ClusterUnreachable, psycopg.OperationalError):
            with _session(cluster) as connection:
                lacking = _lacking(connection, wanted)
            if not lacking:
                return
        time.sleep(LOOK_S)
    raise Refused(f"{cluster} does not follow: {lacking}")


def _lacking(connection: postgres.Connection, wanted: Mapping[str, str | None]) -> str:
    """What ALTER SYSTEM or the running server does not hold yet, in words; empty where all is as wanted."""
    if _in_auto_conf(connection, list(wanted)) != dict(wanted):
        return "postgresql.auto.conf holds other values"
    for name, known in checking.known_settings(connection, list(wanted)).items():
        value = wanted[name]
        if known.pending_restart:
            return f"{name} waits for a restart"
        # a role's or a database's own value hides the server's from this session
        if value is not None and known.source == "configuration file" and read(known, value) != known.setting:
            return f"{name} is {known.shown} instead of {value}"
    return ""


def _in_auto_conf(connection: postgres.Connection, names: list[str]) -> dict[str, str | None]:
    """What ALTER SYSTEM holds of these; raises `Refused` where the role may not know."""
    try:
        found: dict[str, str] = dict(connection.execute(_AUTO, (names,)).fetchall())
    except psycopg.errors.InsufficientPrivilege:
        raise Refused(
            "the panel's role may not read pg_file_settings, so what was set before could not be brought back: "
            "use a superuser"
        ) from None
    return {name: found.get(name) for name in names}


def _session(cluster: Cluster) -> postgres.Connection:
    return postgres.connect(cluster, application_name=APPLICATION_NAME)
