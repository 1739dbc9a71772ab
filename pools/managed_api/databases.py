"""`/v2/databases/ID/dbs`: the databases of a cluster."""

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.permissions import person
from pools.errors import InvalidValues
from pools.managed_api.base import ClusterView, paged
from pools.managed_api.body import Body
from pools.managed_api.errors import Duplicate
from pools.models import Cluster
from pools.provisioning import databases


class DatabasesView(ClusterView):
    """The databases of a cluster."""

    operations = {"get": "cluster.view", "post": "database.change"}

    def get(self, request: Request, pk: str) -> Response:
        """List the databases as they are now, without templates."""
        found = [{"name": one.name} for one in databases.list_all(self.cluster) if not one.made_for]
        return paged(request, "dbs", found)

    def post(self, request: Request, pk: str) -> Response:
        """Create a database; 409 where there is one of that name."""
        name = Body.of(request).text("name", required=True)
        try:
            database = databases.create(self.cluster, {"name": name}, person(request.user))
        except InvalidValues as error:
            _refuse_taken(self.cluster, name)
            raise error from None
        return Response({"db": {"name": database.name}}, status=201)


class DatabaseView(ClusterView):
    """One database of a cluster."""

    operations = {"get": "cluster.view", "delete": "database.change"}

    def get(self, request: Request, pk: str, name: str) -> Response:
        """Return `{db: {name}}`; 404 where the cluster lacks it."""
        return Response({"db": {"name": databases.find(self.cluster, name).name}})

    def delete(self, request: Request, pk: str, name: str) -> Response:
        """Drop the database for good; 409 with the blockers while a pool or a session uses it."""
        databases.drop(self.cluster, name, person(request.user))
        return Response(status=204)


def _refuse_taken(cluster: Cluster, name: str) -> None:
    if any(database.name == name for database in databases.list_all(cluster)):
        text = _("there is already a database %(name)r on cluster %(cluster)s: choose another name")
        raise Duplicate(text % {"name": name, "cluster": cluster})
