"""Server settings that a playbook needs beyond those of its arms: `max_connections`, where the server has fewer."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.errors import Refused
from benchmarks.experiments.playbook import PlaybookSpec
from benchmarks.library.settings_profiles import restart, validation
from pools.clusters import connect
from pools.models import Cluster, ClusterStatus

MAX_CONNECTIONS = "max_connections"
MOST_SHOWN = 6
_CONNECTED = """
    SELECT usename, application_name, count(*) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND application_name NOT LIKE 'pooldeck%'
     GROUP BY usename, application_name ORDER BY count(*) DESC, usename, application_name
"""


def raised(spec: PlaybookSpec, cluster: Cluster, *, is_admin: bool) -> tuple[dict[str, str], list[str]]:
    """Return the settings to put in force for every run, and notes on them, from the running server.

    Raises `ClusterUnreachable`. Without a way to raise a setting it is left as it is, and a note says why.
    """
    most = int(spec.needs.get("max_connections") or 0)
    with connect.connect(cluster, application_name="pooldeck-experiments") as connection:
        row = connection.execute("SELECT current_setting('max_connections')::int").fetchone()
    now = int(row[0]) if row else 0
    if now >= most:
        return {}, []
    values = {"most": f"{most:,}", "now": f"{now:,}", "cluster": cluster.name}
    if why_not := _why_not(cluster, most, is_admin):
        note = _(
            "%(cluster)s has max_connections %(now)s, and the playbook needs %(most)s: it stays so, for %(reason)s"
        )
        return {}, [note % (values | {"reason": why_not})]
    note = _(
        "max_connections of %(cluster)s is %(most)s instead of %(now)s during the runs, by a restart before the first "
        "and another one after the last"
    )
    who = sessions_to_end(cluster)
    return {MAX_CONNECTIONS: str(most)}, [note % values, *([who] if who else [])]


def sessions_to_end(cluster: Cluster) -> str:
    """Return a sentence on the sessions that a restart would end now; empty where there are none.

    Those of the panel itself are not counted; a pooler's are, for its clients see the restart.
    """
    with connect.connect(cluster, application_name="pooldeck-experiments") as connection:
        rows = connection.execute(_CONNECTED).fetchall()
    if not rows:
        return ""
    text = ngettext(
        "A restart ends %(count)s session that is connected now: %(who)s.",
        "A restart ends %(count)s sessions that are connected now: %(who)s.",
        total := sum(count for *_words, count in rows),
    )
    who = [f"{user} ({program}): {count}" if program else f"{user}: {count}" for user, program, count in rows]
    names = [*who[:MOST_SHOWN], *(["…"] if len(who) > MOST_SHOWN else [])]
    return text % {"count": total, "who": ", ".join(names)}


def may_be_raised(spec: PlaybookSpec, cluster: Cluster) -> bool:
    """Return whether an experiment would raise `max_connections`, as far as the last check of the cluster shows."""
    most = int(spec.needs.get("max_connections") or 0)
    status = ClusterStatus.objects.filter(cluster=cluster).first()
    now = status.max_connections if status else None
    return most > (now or 0) and not _why_no_restart(cluster)


def _why_not(cluster: Cluster, most: int, is_admin: bool) -> str:
    """Return why the panel can't raise it; empty where it can."""
    if why_not := _why_no_restart(cluster):
        return why_not
    return "; ".join(validation.check(cluster, {MAX_CONNECTIONS: str(most)}, is_admin=is_admin).problems)


def _why_no_restart(cluster: Cluster) -> str:
    try:
        if restart.command_for(cluster) is None:
            return _("POOLDECK_RESTART_FILE names no command that restarts %(cluster)s") % {"cluster": cluster.name}
    except Refused as error:
        return str(error)
    return ""
