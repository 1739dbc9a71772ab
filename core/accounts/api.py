"""The REST API of tokens: list, create, read, revoke; and the addresses of that of teams, people and the trail."""

from django.db.models import QuerySet
from django.urls import URLPattern, URLResolver
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import GenericViewSet

from core.accounts.access import Access
from core.accounts.audit.api import AuditEntryViewSet
from core.accounts.models import ApiToken, digest
from core.accounts.people import api as people_api
from core.accounts.serializers import NewTokenSerializer, TokenSerializer


class TokenViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.DestroyModelMixin, GenericViewSet[ApiToken]
):
    """One's own tokens and those of the teams that one owns; of all users, for administrators of the installation."""

    queryset = ApiToken.objects.select_related("user", "team", "made_by")
    serializer_class = TokenSerializer
    lookup_value_converter = "uuid"
    operations = dict.fromkeys(("list", "retrieve", "create", "destroy"), "token.manage")
    filterset_fields = {"user__username": ["exact"], "team": ["exact"], "revoked_at": ["isnull"]}
    search_fields = ["name", "prefix", "user__username"]
    ordering_fields = ["name", "created_at", "expires_at", "last_used_at"]

    def get_queryset(self) -> QuerySet[ApiToken]:
        """Leave those that the caller may manage, which is less than members of the only team see of other things."""
        return super().get_queryset().filter(ApiToken.managed_by(Access.of(self.request)))

    def check_object_permissions(self, request: Request, obj: ApiToken) -> None:
        """Let all in that `get_queryset` left: a person's own token belongs to no team in which they need a role."""

    @extend_schema(request=TokenSerializer, responses={201: NewTokenSerializer})
    def create(self, request: Request) -> Response:
        """Create a token, for yourself or for a team; `token` is in this response only."""
        serializer = TokenSerializer(data=request.data, context=self.get_serializer_context())
        serializer.is_valid(raise_exception=True)
        text = serializer.new_token(serializer.validated_data).issue()
        token = self.queryset.get(digest=digest(text))
        answer = NewTokenSerializer(token, context={**self.get_serializer_context(), "text": text})
        return Response(answer.data, status=status.HTTP_201_CREATED)

    def perform_destroy(self, instance: ApiToken) -> None:
        """Revoke the token; its row is kept as a record of its past use."""
        instance.revoke()


router = SimpleRouter(use_regex_path=False)
router.register("audit", AuditEntryViewSet, basename="api-audit")
router.register("tokens", TokenViewSet, basename="api-token")
urlpatterns: list[URLPattern | URLResolver] = [*router.urls, *people_api.router.urls]
