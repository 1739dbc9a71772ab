"""Server settings that a playbook needs beyond those of its arms: `max_connections`, where the server has fewer."""

from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from benchmarks.experiments.playbook import PlaybookSpec
from benchmarks.library.settings_profiles import restart, validation
from pools.clusters import connect
from pools.models import Cluster, ClusterStatus

MAX_CONNECTIONS = "max_connections"


def raised(spec: PlaybookSpec, cluster: Cluster) -> tuple[dict[str, str], list[str]]:
    """Return the settings to put in force for every run, and notes on them, from the running server.

    Raises `ClusterUnreachable`. Without a way to raise a setting it is left as it is, and a note says why.
    """
    most = int(spec.needs.get(MAX_CONNECTIONS) or 0)
    with connect.connect(cluster, application_name="pooldeck-experiments") as connection:
        row = connection.execute("SELECT current_setting('max_connections')::int").fetchone()
    now = int(row[0]) if row else 0
    if now >= most:
        return {}, []
    values = {"most": f"{most:,}", "now": f"{now:,}", "cluster": cluster.name}
    if why_not := _why_not(cluster, most):
        note = _(
            "%(cluster)s has max_connections %(now)s, and the playbook needs %(most)s: it stays so, for %(reason)s"
        )
        return {}, [note % (values | {"reason": why_not})]
    note = _(
        "max_connections of %(cluster)s is %(most)s instead of %(now)s during each run, by a restart before and after"
    )
    return {MAX_CONNECTIONS: str(most)}, [note % values]


def may_be_raised(spec: PlaybookSpec, cluster: Cluster) -> bool:
    """Return whether an experiment would raise `max_connections`, as far as the last check of the cluster shows."""
    most = int(spec.needs.get(MAX_CONNECTIONS) or 0)
    status = ClusterStatus.objects.filter(cluster=cluster).first()
    now = status.max_connections if status else None
    return most > (now or 0) and not _why_no_restart(cluster)


def _why_not(cluster: Cluster, most: int) -> str:
    """Return why the panel can't raise it; empty where it can."""
    return _why_no_restart(cluster) or "; ".join(validation.check(cluster, {MAX_CONNECTIONS: str(most)}).problems)


def _why_no_restart(cluster: Cluster) -> str:
    try:
        if restart.command_for(cluster) is None:
            return _("POOLDECK_RESTART_FILE names no command that restarts %(cluster)s") % {"cluster": cluster.name}
    except Refused as error:
        return str(error)
    return ""
