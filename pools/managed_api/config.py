"""`/v2/databases/ID/config`: settings of the PgBouncer that has the cluster's pools."""

from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.access import allow
from core.accounts.held_requests import held_by_thread
from core.accounts.permissions import person
from pools.api.sql_rights import sql_right
from pools.inventory import applied_settings, pooler_choice
from pools.managed_api.base import ClusterView
from pools.managed_api.body import Body
from pools.managed_api.errors import Unsupported
from pools.managed_api.pools import APPLIED_WITHIN_S
from pools.models import Pooler
from pools.poolers import driver

SECTION = "pgbouncer"
IGNORED = "ignore_startup_parameters"
SWITCH = "server_reset_query_always"
NUMBERS = ("min_pool_size", "server_lifetime", "server_idle_timeout")
OFFERED = (SWITCH, IGNORED, *NUMBERS)


class ConfigView(ClusterView):
    """The settings; they hold for all clusters behind the same PgBouncer."""

    operations = {"get": "cluster.view", "patch": "cluster.change"}

    def get(self, request: Request, pk: str) -> Response:
        """Return the settings that were set; those that were not are PgBouncer's defaults."""
        pooler = pooler_choice.known_of(self.cluster)
        return Response({"config": {SECTION: _shown(pooler)} if pooler and _has_section(pooler) else {}})

    def patch(self, request: Request, pk: str) -> Response:
        """Change settings of PgBouncer and wait until they are applied; 422 for settings of the server."""
        config = Body.of(request).object("config")
        if others := sorted(name for name, value in config.items() if name != SECTION and value is not None):
            text = _(
                "the panel does not change settings of servers (%(names)s): use ALTER SYSTEM; it changes %(offered)s"
            )
            raise Unsupported(text % {"names": ", ".join(others), "offered": SECTION})
        pooler, values = pooler_choice.of_cluster(self.cluster), _values(Body(config).object(SECTION))
        allow(request, pooler, to="pooler.change")
        if not _has_section(pooler):
            text = _("pooler %(pooler)s is a %(kind)s: change its settings on its page")
            raise Unsupported(text % {"pooler": pooler, "kind": pooler.get_kind_display()})
        if values:
            author, right = person(request.user), sql_right(request)
            with held_by_thread(request):
                pooler = applied_settings.change(pooler, values, author, right, APPLIED_WITHIN_S)
        return Response({"config": {SECTION: _shown(pooler)}})


def _has_section(pooler: Pooler) -> bool:
    return driver(pooler).managed_section == SECTION


def _shown(pooler: Pooler) -> dict[str, object]:
    found = {name: value for name, value in pooler.settings.items() if name in OFFERED}
    if SWITCH in found:
        found[SWITCH] = str(found[SWITCH]).lower() in ("1", "true", "yes", "on")
    if IGNORED in found:
        found[IGNORED] = [word.strip() for word in str(found[IGNORED]).split(",") if word.strip()]
    return found


def _values(section: dict[str, object]) -> dict[str, object]:
    body = Body(section)
    values: dict[str, object] = {}
    if others := sorted(body.truthy(*set(section) - set(OFFERED))):  # Terraform sends 0 for what is not set
        text = _("%(names)s can't be set here: use %(offered)s")
        raise ValidationError({SECTION: [text % {"names": ", ".join(others), "offered": ", ".join(OFFERED)}]})
    for name in NUMBERS:
        if body.has(name):
            values[name] = body.number(name)
    if body.has(IGNORED):
        values[IGNORED] = ",".join(body.texts(IGNORED)) or None
    return values | ({SWITCH: "1" if body.truthy(SWITCH) else "0"} if body.has(SWITCH) else {})
