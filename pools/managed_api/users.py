"""`/v2/databases/ID/users`: roles that can log in."""

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.permissions import person
from pools.errors import InvalidValues
from pools.managed_api import scopes, shapes
from pools.managed_api.base import ClusterView, paged
from pools.managed_api.body import Body
from pools.managed_api.errors import Duplicate, Unsupported
from pools.models import Cluster
from pools.provisioning import roles


class UsersView(ClusterView):
    """The users of a cluster."""

    operations = {"get": "cluster.view", "post": "role.change"}

    def get(self, request: Request, pk: str) -> Response:
        """List the roles that can log in, as they are now."""
        passwords = shapes.passwords_of(self.cluster, reveals=self.reveals)
        found = [role.name for role in roles.list_all(self.cluster) if role.can_login and not role.made_for]
        return paged(request, "users", [shapes.user(self.cluster, name, passwords) for name in found])

    def post(self, request: Request, pk: str) -> Response:
        """Create a user with a generated password; 409 where there is one of that name."""
        body = Body.of(request)
        name = body.text("name", required=True)
        _refuse_settings(body)
        try:
            _made, password = roles.create(self.cluster, {"name": name}, person(request.user))
        except InvalidValues as error:
            _refuse_taken(self.cluster, name)
            raise error from None
        return Response({"user": _shown(self, name, password, _settings(body))}, status=201)


class UserView(ClusterView):
    """One user of a cluster."""

    operations = {"get": "cluster.view", "put": "role.change", "delete": "role.change"}

    def get(self, request: Request, pk: str, name: str) -> Response:
        """Return `{user}`; 404 where the cluster lacks the role."""
        roles.find(self.cluster, name)
        passwords = shapes.passwords_of(self.cluster, reveals=self.reveals)
        return Response({"user": shapes.user(self.cluster, name, passwords)})

    def put(self, request: Request, pk: str, name: str) -> Response:
        """Accept settings that change nothing: a user has none here."""
        roles.find(self.cluster, name)
        body = Body.of(request)
        _refuse_settings(body)
        passwords = shapes.passwords_of(self.cluster, reveals=self.reveals)
        return Response({"user": shapes.user(self.cluster, name, passwords, _settings(body))})

    def delete(self, request: Request, pk: str, name: str) -> Response:
        """Drop the user; 409 with the blockers while a pool or a session uses it, or it owns something."""
        roles.drop(self.cluster, name, person(request.user))
        return Response(status=204)


class ResetAuthView(ClusterView):
    """The password of a user."""

    destructive = frozenset({"post"})
    operations = {"post": "role.change"}

    permissions = {"POST": scopes.UPDATE}

    def post(self, request: Request, pk: str, name: str) -> Response:
        """Set a new password; the pools of the user are applied again."""
        password = roles.reset_password(self.cluster, name, person(request.user))
        return Response({"user": _shown(self, name, password)})


def _shown(view: ClusterView, name: str, password: str, settings: dict[str, object] | None = None) -> shapes.UserShape:
    return shapes.user(view.cluster, name, {name: password} if view.reveals else {}, settings)


def _settings(given: Body) -> dict[str, object] | None:
    """Return the settings to answer with: empty ones where the client sent such, else none."""
    return {} if given.has("settings") else None


def _refuse_settings(given: Body) -> None:
    names = [name for name, value in given.object("settings").items() if value]
    if names or given.truthy("mysql_settings", "readonly"):
        text = _("users have no settings here (%(names)s was sent): change the role on the page Users of its cluster")
        raise Unsupported(text % {"names": ", ".join(names) or "mysql_settings, readonly"})


def _refuse_taken(cluster: Cluster, name: str) -> None:
    if any(role.name == name for role in roles.list_all(cluster)):
        text = _("there is already a user %(name)r on cluster %(cluster)s: choose another name")
        raise Duplicate(text % {"name": name, "cluster": cluster})
