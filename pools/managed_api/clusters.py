"""`/v2/databases`: clusters. Creating one claims it from the shelf or runs a command, deleting one gives it back."""

import base64
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.access import Access
from core.accounts.models import Team
from core.accounts.permissions import person
from pools.inventory import create_file, creations, shelf
from pools.inventory.create_file import InvalidCreateFile
from pools.inventory.shelf import ClusterRequest, NoneFits
from pools.managed_api import shapes
from pools.managed_api.base import ClusterView, ManagedView, paged, visible_clusters
from pools.managed_api.body import Body
from pools.managed_api.errors import Unsupported
from pools.models import Cluster, ClusterCreation, ClusterStatus, CreationState, ShelfEntry
from pools.models.shelf import ShelfEntryQuerySet
from pools.provisioning import shelf_return

logger = logging.getLogger(__name__)
WINDOW = {
    "day": re.compile("(mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE),
    "hour": re.compile("([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?"),
}


class ClustersView(ManagedView):
    """All clusters but the free ones of the shelf."""

    operations = {"get": "cluster.view", "post": "cluster.create"}

    def get(self, request: Request) -> Response:
        """List the clusters, with `tag_name` those of a tag."""
        tag = request.query_params.get("tag_name", "")
        listed = [shapes.cluster(one, reveals=self.reveals_of(one)) for one in visible_clusters(request)]
        listed += [shapes.creation(one) for one in Access.of(request).visible(ClusterCreation.objects.creating())]
        listed.sort(key=lambda one: str(one["name"]))
        return paged(request, "databases", [one for one in listed if not tag or tag in one["tags"]])

    def post(self, request: Request) -> Response:
        """Claim a free cluster of the shelf that fits, or have the operator's command create one.

        `status` is `creating` until the panel can log in to it; the id stays.
        """
        body = Body.of(request)
        _refuse_what_is_not_offered(body)
        cluster_request, author = _wanted(body), person(request.user)
        try:
            entry = shelf.claim(cluster_request, author, _claimable(request))
        except NoneFits:
            if (creation := creations.request(cluster_request, author, _team_of_new(request))) is None:
                raise
            return Response({"database": shapes.creation(creation)}, status=201)
        cluster = visible_clusters(request).get(pk=entry.pk)
        return Response({"database": shapes.cluster(cluster, reveals=self.reveals_of(cluster))}, status=201)


class ClusterDetailView(ClusterView):
    """`/v2/databases/ID`: a cluster, or one that the operator's command is creating or deleting."""

    operations = {"get": "cluster.view", "delete": "cluster.remove"}

    def get(self, request: Request, pk: str) -> Response:
        """Return the cluster, created or not; 409 with the reason where the operator's command failed."""
        if self.creation and self.creation.state == CreationState.CREATING:
            return Response({"database": shapes.creation(self.creation)})
        return Response({"database": shapes.cluster(self.cluster, reveals=self.reveals)})

    def delete(self, request: Request, pk: str) -> Response:
        """Give the cluster back to the shelf, or have it deleted; 409 for one that was registered in the panel."""
        if self.creation and creations.withdraw(self.creation, person(request.user)):
            return Response(status=204)
        shelf_return.give_back(self.cluster, person(request.user))
        return Response(status=204)


class CertificateView(ClusterView):
    """The certificate authority of a cluster."""

    operations = {"get": "cluster.view"}

    def get(self, request: Request, pk: str) -> Response:
        """Return the registered authority, PEM in base64; an empty text where none is registered."""
        pem = self.cluster.sslrootcert.encode()
        return Response({"ca": {"certificate": base64.b64encode(pem).decode()}})


class ResizeView(ClusterView):
    """The size of a cluster."""

    operations = {"put": "cluster.change"}

    def put(self, request: Request, pk: str) -> Response:
        """Accept the current size; refuse another."""
        body, now = Body.of(request), shapes.cluster(self.cluster, reveals=False)
        size, num_nodes = body.text("size") or now["size"], body.number("num_nodes") or now["num_nodes"]
        mib = body.number("storage_size_mib") or now["storage_size_mib"]
        if (size, num_nodes, mib) != (now["size"], now["num_nodes"], now["storage_size_mib"]):
            text = _("the panel can't resize the servers of cluster %(cluster)s: it stays at size %(size)s")
            raise Unsupported(text % {"cluster": self.cluster, "size": now["size"]})
        return Response(status=202)


class MaintenanceView(ClusterView):
    """The maintenance window of a cluster: kept for its client, since nothing here maintains servers."""

    operations = {"put": "cluster.change"}

    def put(self, request: Request, pk: str) -> Response:
        """Keep day and hour as they were sent, which Terraform compares byte by byte; 422 for what is neither."""
        body = Body.of(request)
        window = {name: body.text(name, required=True) for name in WINDOW}
        for name, shape in WINDOW.items():
            if not shape.fullmatch(window[name]):
                text = _("%(value)r is not a valid %(name)s: send one as in {'day': 'tuesday', 'hour': '14:00'}")
                raise ValidationError({name: [text % {"value": window[name][:40], "name": name}]})
        Cluster.objects.filter(pk=self.cluster.pk).update(maintenance_window=window)
        logger.info("maintenance window of cluster %s set by %s; no server is maintained", pk, person(request.user))
        return Response(status=204)


class OptionsView(ManagedView):
    """The sizes, regions and versions that a create can ask for."""

    operations = {"get": "shelf.view"}

    def get(self, request: Request) -> Response:
        """Return the regions, sizes and versions of the shelf's free clusters, and of the operator's commands."""
        offers = [*_free_offers(request), *_command_offers()]
        versions = sorted({version for offer in offers for version in offer.versions}, key=int)
        layouts = [
            {"num_nodes": count, "sizes": sorted({offer.size for offer in offers if offer.nodes == count})}
            for count in sorted({offer.nodes for offer in offers})
        ]
        regions = sorted({offer.region for offer in offers})
        offered = {"regions": regions, "versions": versions, "layouts": layouts}
        available = [{"version": one, "end_of_life": None, "end_of_availability": None} for one in versions]
        return Response({"options": {shapes.ENGINE: offered}, "version_availability": {shapes.ENGINE: available}})


@dataclass(frozen=True)
class _Offer:
    """A cluster on the shelf that a create can get."""

    size: str
    region: str
    versions: tuple[str, ...]
    nodes: int = 1


def _claimable(request: Request) -> ShelfEntryQuerySet:
    """Return the free clusters that the caller may claim: those of the teams in which they may create clusters."""
    access = Access.of(request)
    free = ShelfEntry.objects.free()
    return free if access.sees_all else free.filter(cluster__team__in=access.teams("cluster.create"))


def _team_of_new(request: Request) -> Team | None:
    """Return the team of a cluster that a command creates: the caller's first fitting one; the protocol names none."""
    access = Access.of(request)
    return None if access.is_admin else access.teams("cluster.create").first()


def _free_offers(request: Request) -> Iterator[_Offer]:
    for entry in _claimable(request).prefetch_related("cluster__nodes"):
        version = shapes.major_version(getattr(entry.cluster, "status", None) or ClusterStatus())
        yield _Offer(entry.size, entry.region, (version,) if version else (), 1 + len(entry.cluster.nodes.all()))


def _command_offers() -> list[_Offer]:
    try:
        return [_Offer(entry.size, entry.region, entry.versions) for entry in create_file.entries()]
    except InvalidCreateFile as error:  # the free clusters can be claimed nevertheless
        logger.warning("options without the operator's commands: %s", error)
        return []


def _wanted(given: Body) -> ClusterRequest:
    return ClusterRequest(
        name=given.text("name", required=True),
        size=given.text("size"),
        region=given.text("region"),
        version=given.text("version"),
        nodes=given.number("num_nodes"),
        tags=given.texts("tags"),
        storage_mib=given.number("storage_size_mib") or None,
    )


def _refuse_what_is_not_offered(given: Body) -> None:
    engine = given.text("engine", required=True)
    if engine != shapes.ENGINE:
        text = _("%(engine)s is not an engine of this panel: use %(offered)s")
        raise ValidationError({"engine": [text % {"engine": engine, "offered": shapes.ENGINE}]})
    if unsupported := given.truthy("backup_restore", "rules"):
        text = _("the panel has no backups and no firewall of servers: leave %(names)s out")
        raise Unsupported(text % {"names": ", ".join(unsupported)})
    # Terraform reads them back, and would replace the cluster, with its data, where they are not those it sent
    if unsupported := given.truthy("private_network_uuid", "project_id"):
        text = _("the panel has neither private networks nor projects: leave %(names)s out")
        raise Unsupported(text % {"names": ", ".join(unsupported)})
