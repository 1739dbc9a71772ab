"""What the provider does with its own servers: reads are empty, changes are refused with a sentence."""

from typing import Any

from django.http import Http404
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.permissions import person
from pools.managed_api.base import ClusterView, ManagedView
from pools.managed_api.body import Body
from pools.managed_api.errors import Unsupported
from pools.managed_api.shapes import NO_AUTOSCALE

# last word of the address → reason; a change that requests nothing (an empty list of rules) is granted
REFUSALS: dict[str, Promise] = {
    "backups": gettext_lazy("the panel makes no backups: use pgBackRest or Barman on the servers"),
    "events": gettext_lazy("the panel's events can't be written"),
    "firewall": gettext_lazy("the panel changes no firewall: use pg_hba.conf, or the firewall of the server"),
    "install_update": gettext_lazy("the panel updates no servers: use the packages of their system"),
    "logsink": gettext_lazy("the panel forwards no logs: use a log shipper on the servers"),
    "migrate": gettext_lazy("the panel moves no servers: create a cluster in the other region"),
    "online-migration": gettext_lazy("the panel migrates no data: use logical replication"),
    "replicas": gettext_lazy("the panel creates no servers: add a standby to the nodes of the cluster"),
    "upgrade": gettext_lazy("the panel upgrades no servers: use pg_upgrade"),
    "autoscale": gettext_lazy("the panel changes no disks, so nothing scales by itself"),
}
READS: dict[str, dict[str, object]] = {
    "autoscale": {"autoscale": {"storage": NO_AUTOSCALE}, "storage": NO_AUTOSCALE},
    "backups": {"backups": []},
    "events": {"events": []},
    "firewall": {"rules": []},
    "logsink": {"sinks": []},
    "replicas": {"replicas": []},
}


class UnsupportedView(ClusterView):
    """A part of a cluster that only the provider has."""

    operations = {"get": "cluster.view", "post": "cluster.change", "put": "cluster.change"}

    def get(self, request: Request, pk: str, word: str) -> Response:
        """Return the empty object that clients expect of this feature; raises `Unsupported` where there is none."""
        self._check(word)
        if word not in READS:
            raise Unsupported(str(REFUSALS[word]))
        return Response(READS[word])

    def post(self, request: Request, pk: str, word: str) -> Response:
        """Refuse with the remedy."""
        self._check(word)
        raise Unsupported(str(REFUSALS[word]))

    def put(self, request: Request, pk: str, word: str) -> Response:
        """Refuse with the remedy, unless nothing is asked for."""
        self._check(word)
        body = Body.of(request)
        if word == "firewall" and body.has("rules") and not body.truthy("rules"):
            return Response(status=204)
        raise Unsupported(str(REFUSALS[word]))

    def _check(self, word: str) -> None:
        """Answer 404 for an unknown cluster before anything else."""
        if self.cluster and word not in REFUSALS:
            raise Http404(_("there is nothing at %(path)s") % {"path": self.request.path})


class MetricsCredentialsView(ManagedView):
    """The login for the provider's metrics endpoints, of which there are none here."""

    operations = {"get": "metrics.read"}

    def get(self, request: Request) -> Response:
        """Return an empty login: the panel's own /metrics takes its tokens."""
        return Response({"credentials": {"basic_auth_username": "", "basic_auth_password": ""}})


class AccountView(ManagedView):
    """The caller's account, which some clients ask for before anything else."""

    operations = {"get": "session.read"}

    def get(self, request: Request) -> Response:
        """Return the token's user."""
        user = person(request.user)
        account = {
            "uuid": str(user.pk),
            "name": user.get_full_name() or user.get_username(),
            "email": user.email,
            "email_verified": True,
            "status": "active",
            "status_message": "",
            "droplet_limit": 0,
            "floating_ip_limit": 0,
            "reserved_ip_limit": 0,
            "volume_limit": 0,
        }
        return Response({"account": account})


class NothingView(ManagedView):
    """Any other address under /v2/."""

    operations = {
        "get": "session.read",
        "post": "session.read",
        "put": "session.read",
        "patch": "session.read",
        "delete": "session.read",
    }

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Log in, then answer 404, whatever the method is."""
        super().initial(request, *args, **kwargs)
        raise Http404(_("there is nothing at %(path)s") % {"path": request.path})
