"""The base of all views under /v2/: tokens, permissions, quota, errors and headers."""

import logging
import uuid
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.accounts.access import Access
from core.accounts.authentication import TokenAuthentication
from core.accounts.models import ApiToken
from core.accounts.reasons import GivesReason
from core.audit.acts import record_reveal
from pools.errors import IllegalTransition
from pools.managed_api import errors, rate_limit, scopes
from pools.managed_api.rate_limit import Quota
from pools.models import Cluster, ClusterCreation, CreationState
from pools.models.shelf import visible_to_clients

logger = logging.getLogger(__name__)

FIRST_PAGE = ("", "1")


class ManagedView(APIView):
    """A view of the managed-database API; `operations` has the panel's operation of each method."""

    authentication_classes = [TokenAuthentication]
    permission_classes = [scopes.HasPermission, GivesReason]
    schema = None  # /api/schema/ describes the panel's own API
    operations: dict[str, str] = {}
    permissions: dict[str, str] = {}  # method → permission, where it differs from `scopes.BY_METHOD`
    quota: Quota | None = None
    _is_logged = False

    @cached_property
    def request_id(self) -> str:
        """The id of this request, in its headers, errors and log lines."""
        return str(uuid.uuid4())

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Log in, then count the request, then check the permission."""
        self.perform_authentication(request)
        if isinstance(request.auth, ApiToken):
            self.quota = rate_limit.count(str(request.auth.pk))
            rate_limit.refuse_over(self.quota)
        super().initial(request, *args, **kwargs)

    def handle_exception(self, exc: Exception) -> Response:
        """Answer any error in the provider's shape."""
        own = self.get_exception_handler()(self._with_challenge(exc), self.get_exception_handler_context())
        return errors.answer(exc, own, self.request_id)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Add the request's id and the quota to the headers."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer["x-request-id"] = self.request_id
        for name, value in (self.quota.headers if self.quota else {}).items():
            answer[name] = value
        return answer

    def reveals_of(self, cluster: Cluster) -> bool:
        """Tell whether the answer holds the passwords of this cluster; it is logged who gets them."""
        may_reveal = Access.of(self.request).may("cluster.reveal", cluster)
        if may_reveal and not self._is_logged:
            logger.info("request %s to %s shows passwords to %s", self.request_id, self.request.path, self.request.user)
            self._is_logged = True
            record_reveal(cluster, self.request.path)
        return may_reveal

    def _with_challenge(self, error: Exception) -> Exception:
        """Add the header without which a client is not told how to log in, as DRF's own views do."""
        if getattr(error, "status_code", 0) == 401:
            error.auth_header = self.get_authenticate_header(self.request)  # type: ignore[attr-defined]
        return error


class ClusterView(ManagedView):
    """A view of one cluster, whose id is in the address."""

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster; 409 until it is created, 404 for an unknown id, and for a free one of the shelf."""
        found = visible_clusters(self.request).filter(pk=self.kwargs["pk"]).first()
        if found is None:
            self._refuse_unfinished()
            raise Http404(_("there is no database cluster %(id)s") % {"id": self.kwargs["pk"]})
        access = Access.of(self.request)
        access.refuse(found, access.needed)
        return found

    @property
    def reveals(self) -> bool:
        """True if the answer holds the passwords of the cluster."""
        return self.reveals_of(self.cluster)

    @cached_property
    def creation(self) -> ClusterCreation | None:
        """The creation of the cluster while that goes on, and for ten minutes after it failed; else None."""
        visible = Access.of(self.request).visible(ClusterCreation.objects.answered())
        return visible.filter(pk=self.kwargs["pk"]).first()

    def _refuse_unfinished(self) -> None:
        """Raise 409, not 404, for a failed creation: Terraform waits for ever while it reads 404."""
        if (creation := self.creation) is None:
            return
        if creation.state == CreationState.CREATING:
            text = _("cluster %(cluster)s is being created: wait until its status is online")
            raise IllegalTransition(text % {"cluster": creation})
        if not Access.of(self.request).may("cluster.reveal"):
            text = _("cluster %(cluster)s could not be created: an admin of the panel finds the reason on its shelf")
            raise IllegalTransition(text % {"cluster": creation})
        text = _("cluster %(cluster)s could not be created: %(reason)s")
        raise IllegalTransition(text % {"cluster": creation, "reason": creation.reason})


def visible_clusters(request: Request) -> QuerySet[Cluster]:
    """Return the clusters that this client sees, with all that their shape needs."""
    related = Cluster.objects.select_related("status", "shelf_entry").prefetch_related("nodes", "role_passwords")
    return Access.of(request).visible(related.filter(visible_to_clients()).order_by("name"))


def paged(request: Request, key: str, shown: list[Any]) -> Response:
    """Answer a list whole on page 1, since most of the clients never ask for page 2, with `links` and `meta`."""
    rows = shown if request.query_params.get("page", "") in FIRST_PAGE else []
    return Response({key: rows, "links": {"pages": {}}, "meta": {"total": len(shown)}})
