"""External endpoints made of poolers' entries that are not managed here: the person gives the login of the load."""

from django.utils.translation import gettext as _

from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint
from benchmarks.targets import external
from benchmarks.targets.external import ConsoleLogin, EndpointValues
from core.lib.crypto import SealBroken
from pools.clusters import endpoints
from pools.connection_strings import uri as connection_uri
from pools.inventory import pooler_choice
from pools.models import Entry
from pools.poolers import driver

LONGEST_NAME = 100


def endpoint_of(entry: Entry, user: str, password: str, database: str = "") -> ExternalEndpoint:
    """Return the endpoint of an entry for this login, which is tried and stored; raises as `tried`."""
    return external.keep(tried(entry, user, password, database))


def tried(entry: Entry, user: str, password: str, database: str = "") -> ExternalEndpoint:
    """Return the endpoint of an entry for this login after a try, not saved yet; a known one has the new password.

    `database` is needed where the entry leads to whatever its clients name. Raises `InvalidTarget`,
    `PoolerUnreachable`.
    """
    if not entry.database and not database:
        raise InvalidTarget({"database": [_("name the database: this entry leads to whatever its clients name")]})
    endpoint = endpoints.for_run(entry, user, password, database)
    login = {"host": endpoint.host, "port": endpoint.port, "database": endpoint.database, "user": user}
    usable = pooler_choice.usable_clusters(entry.pooler)
    cluster = usable.filter(pk=entry.cluster.pk).first() if entry.cluster else None
    team = {"team_id": entry.pooler.team_id}  # another team may have one of the same login, which is not ours to change
    known = ExternalEndpoint.objects.filter(**login, **team).first() or ExternalEndpoint(**team)
    values: EndpointValues = {
        "uri": connection_uri.render(endpoint),
        "name": known.name or _free_name(f"{entry.pooler}/{endpoint.database}", user),
        "pooled_by": entry.pooler.get_kind_display(),
        "sslrootcert": "",
        "cluster": cluster,
        "cluster_database": (entry.database or database) if cluster else "",
        **_console(entry),
    }
    try:
        return external.tried(known, **values)
    except InvalidTarget as error:
        errors = {"user" if field == "uri" else field: messages for field, messages in error.errors.items()}
        raise InvalidTarget(errors) from None


def find(entry: Entry, user: str = "") -> ExternalEndpoint:
    """Return the endpoint that somebody made of an entry. Raises `InvalidTarget` where no login was given yet."""
    own = {"host": entry.pooler.host, "port": entry.pooler.port, "database": entry.name, "team": entry.pooler.team_id}
    endpoints = ExternalEndpoint.objects.select_related("cluster").filter(**own, **({"user": user} if user else {}))
    if (found := endpoints.order_by("-created_at").first()) is None:
        text = _("the panel has no login through entry %(entry)s: give one at entries/%(id)s/endpoint/ first")
        raise InvalidTarget({"entry": [text % {"entry": entry, "id": entry.pk}]})
    return found


def _console(entry: Entry) -> ConsoleLogin:
    """Return the console's login, by which runs show the pooler's figures; not every console counts by database."""
    if not driver(entry.pooler).counts_entries:
        return {"console_user": ""}
    try:
        return {"console_user": entry.pooler.admin_user, "console_password": entry.pooler.admin_password}
    except SealBroken:
        return {"console_user": ""}


def _free_name(name: str, user: str) -> str:
    names = set(ExternalEndpoint.objects.filter(name__startswith=name[:60]).values_list("name", flat=True))
    candidates = [name, f"{name} as {user}", *(f"{name} as {user} {number}" for number in range(2, 100))]
    return next(one for one in (candidate[:LONGEST_NAME] for candidate in candidates) if one not in names)
