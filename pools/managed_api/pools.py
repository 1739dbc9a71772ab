"""`/v2/databases/ID/pools`: connection pools; a change is answered once it is applied or refused."""

import logging
from typing import Literal

from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.access import Access, allow
from core.accounts.held_requests import held_by_thread
from core.accounts.permissions import person
from pools.api.sql_rights import sql_right
from pools.inventory import applied_pools, pooler_choice
from pools.inventory.pools import InvalidPool, PoolValues
from pools.managed_api import shapes
from pools.managed_api.base import ClusterView, paged
from pools.managed_api.body import Body
from pools.managed_api.errors import Duplicate
from pools.models import Pool, Pooler

logger = logging.getLogger(__name__)

APPLIED_WITHIN_S = 20.0
TextField = Literal["user", "database", "mode"]
TEXTS: dict[str, TextField] = {
    "user": "user",
    "db": "database",
    "mode": "mode",
}  # the provider's key, the panel's field


class PoolsView(ClusterView):
    """The pools of a cluster."""

    operations = {"get": "pool.view", "post": "pool.create"}

    def get(self, request: Request, pk: str) -> Response:
        """List the pools that people made, a page at a time; pools of experiments are left out."""
        passwords = shapes.passwords_of(self.cluster, reveals=self.reveals)
        found = self.cluster.pools.wanted().of_people().select_related("pooler")
        return paged(request, "pools", [shapes.pool(pool, passwords) for pool in found])

    def post(self, request: Request, pk: str) -> Response:
        """Create a pool; 409 for a name that is taken, 422 for bad values and a pool that the pooler refused."""
        body = Body.of(request)
        name, pooler = body.text("name", required=True), pooler_choice.of_cluster(self.cluster)
        values: PoolValues = {"name": name, "pooler": pooler, "cluster": self.cluster, "user": body.text("user")}
        for key, field in TEXTS.items():
            if field != "user":
                values[field] = body.text(key, required=True)
        values["size"] = body.number("size", required=True)
        allow(request, pooler)
        self._refuse_taken(pooler, name)
        try:
            with held_by_thread(request):
                pool = applied_pools.create(values, person(request.user), sql_right(request), APPLIED_WITHIN_S)
        except InvalidPool:
            self._refuse_taken(pooler, name)  # A request at the same moment may have taken the name.
            raise
        passwords = shapes.passwords_of(self.cluster, reveals=self.reveals)
        return Response({"pool": shapes.pool(pool, passwords)}, status=201)

    def _refuse_taken(self, pooler: Pooler, name: str) -> None:
        existing = pooler_choice.find_pool(self.cluster, name) or pooler.pools.wanted().filter(name=name).first()
        if existing:
            text = _("there is already a pool named %(name)r on pooler %(pooler)s: choose another name")
            raise Duplicate(text % {"name": name, "pooler": existing.pooler})


class PoolView(ClusterView):
    """One pool of a cluster, by its name."""

    operations = {"get": "pool.view", "put": "pool.change", "delete": "pool.remove"}

    def get(self, request: Request, pk: str, name: str) -> Response:
        """Return `{pool}`; its password is empty without the scope that reveals it."""
        passwords = shapes.passwords_of(self.cluster, reveals=self.reveals)
        return Response({"pool": shapes.pool(self._pool(name), passwords)})

    def put(self, request: Request, pk: str, name: str) -> Response:
        """Change the pool; an absent key leaves its value, although the provider reads an absent `user` as none.

        The provider's command-line client leaves `user` out, and sends `mode` whether or not it was asked to.
        """
        pool, values = self._pool(name), _changed(Body.of(request))
        _log_mode(pool, values, request)
        with held_by_thread(request):
            applied_pools.change(pool, values, person(request.user), sql_right(request), APPLIED_WITHIN_S)
        return Response(status=204)

    def delete(self, request: Request, pk: str, name: str) -> Response:
        """Remove the pool."""
        with held_by_thread(request):
            applied_pools.remove(self._pool(name), person(request.user), APPLIED_WITHIN_S)
        return Response(status=204)

    def _pool(self, name: str) -> Pool:
        found = pooler_choice.find_pool(self.cluster, name)
        if found is None:
            params = {"name": name, "cluster": self.cluster}
            raise Http404(_("there is no pool %(name)r on cluster %(cluster)s") % params)
        access = Access.of(self.request)
        access.refuse(found, access.needed)
        return found


def _changed(given: Body) -> PoolValues:
    values: PoolValues = {}
    for key, field in TEXTS.items():
        if given.has(key):
            values[field] = given.text(key)
    if given.has("size"):
        values["size"] = given.number("size")
    return values


def _log_mode(pool: Pool, values: PoolValues, request: Request) -> None:
    """Record a changed mode: clients of a session pool may break in transaction mode."""
    if (mode := values.get("mode", pool.mode)) != pool.mode:
        words = (pool.pk, pool, pool.mode, mode, request.user)
        logger.warning("pool %s (%s) changes from %s to %s mode by a request of %s to /v2/", *words)
