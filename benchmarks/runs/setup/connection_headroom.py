"""Checks, before a run is queued, that the server has the connections that are held through its load.

A run that finds out by itself has by then taken all of them from everybody else.
"""

from django.utils.translation import gettext as _

from benchmarks import engines
from benchmarks.errors import InvalidOptions
from benchmarks.models import SettingsProfile
from benchmarks.models.options import RunOptions
from benchmarks.runs.setup.options import CLUSTER
from benchmarks.targets.resolve import OpenSession, Target
from core.accounts.access import Access
from pools.errors import PoolsError
from pools.poolers import driver

LIMITS = ("max_connections", "superuser_reserved_connections", "reserved_connections")
_LIMITS = """
    SELECT name, setting::int FROM pg_settings
     WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')
"""


def guard(target: Target, engine: str, options: RunOptions, session: OpenSession, access: Access | None = None) -> None:
    """Raise `InvalidOptions` where the held connections exceed the server's limit, even with nobody else connected.

    Connections through a pool are not checked: they are the pooler's clients, and the pool's size bounds what the
    server sees. `session` is one of the panel's admin, and raises `ClusterUnreachable`. `access` is that of whoever
    starts the run (None: the panel itself).
    """
    if target.cluster is None:
        return
    kept = {} if target.pooled else engines.engine(engine).extra_connections(options)
    direct = not target.pooled or options.get("idle_at") == CLUSTER
    idle = {"idle_connections": int(options.get("idle_connections") or 0)} if direct else {}
    reserved_by_run = {name: number for name, number in (kept | idle).items() if number}
    _guard_pooler(target, options)
    if not reserved_by_run:
        return
    limits = dict(session().execute(_LIMITS).fetchall()) | _of_profile(options, access)
    most = limits.pop("max_connections", 0)
    reserved = sum(limits.values())
    if sum(reserved_by_run.values()) > most - reserved:
        raise InvalidOptions(_why_not(target.cluster.name, reserved_by_run, most, reserved))


def _guard_pooler(target: Target, options: RunOptions) -> None:
    """Raise `InvalidOptions` where the pooler lets in fewer clients than the load and its idle connections are."""
    idle = int(options.get("idle_connections") or 0)
    if target.pool is None or not idle or options.get("idle_at") == CLUSTER:
        return
    pooler = target.pool.pooler
    try:
        most = driver(pooler).most_clients(pooler)
    except PoolsError:  # the run itself finds out
        return
    clients = int(options.get("clients") or options.get("concurrency") or options.get("threads") or 0)
    if most is not None and idle + clients > most:
        text = _(
            "%(idle)s connections and %(clients)s clients are more than the %(most)s that %(pooler)s lets in "
            "(%(setting)s): use fewer, or raise it in the pooler's settings"
        )
        values = {"idle": f"{idle:,}", "clients": f"{clients:,}", "most": f"{most:,}", "pooler": pooler.name}
        values["setting"] = driver(pooler).clients_setting
        raise InvalidOptions({"idle_connections": [text % values]})


def _of_profile(options: RunOptions, access: Access | None) -> dict[str, int]:
    """Return the limits in the run's settings profile, which is in force before any connection is opened."""
    named = SettingsProfile.objects.filter(name=options.get("settings_profile") or "")
    profile = (access.visible(named) if access else named).first()
    values = profile.values if profile else {}
    return {name: int(values[name]) for name in LIMITS if str(values.get(name, "")).isdigit()}


def _why_not(cluster: str, reserved_by_run: dict[str, int], most: int, reserved: int) -> dict[str, list[str]]:
    """Return the reason at each option that could be lowered."""
    usable, errors = most - reserved, {}
    limits = {"cluster": cluster, "usable": f"{usable:,}", "most": f"{most:,}", "reserved": f"{reserved:,}"}
    for name, number in reserved_by_run.items():
        others = [(other, count) for other, count in reserved_by_run.items() if other != name]
        free = usable - sum(count for _other, count in others)
        beside = {"other": others[0][0], "others": f"{others[0][1]:,}"} if others else {}
        text = _format(beside=bool(others), left=free > 0)
        errors[name] = [text % (limits | beside | {"number": f"{number:,}", "left": f"{free:,}"})]
    return errors


def _format(*, beside: bool, left: bool) -> str:
    if not beside:
        return _(
            "%(number)s connections are more than the %(usable)s that %(cluster)s has for logins (max_connections "
            "%(most)s, %(reserved)s of them reserved): use at most %(left)s, or let them go through a pool"
        )
    if left:
        return _(
            "%(number)s connections and the %(others)s of %(other)s are more than the %(usable)s that %(cluster)s has "
            "for logins (max_connections %(most)s, %(reserved)s of them reserved): use at most %(left)s, or let them "
            "go through a pool"
        )
    return _(
        "%(number)s connections and the %(others)s of %(other)s are more than the %(usable)s that %(cluster)s has for "
        "logins (max_connections %(most)s, %(reserved)s of them reserved): use fewer of both, or let them go through "
        "a pool"
    )
