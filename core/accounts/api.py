"""The REST API of tokens: list, create, read, revoke; and the addresses of that of teams and people."""

from django.urls import URLPattern, URLResolver
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import GenericViewSet

from core.accounts.models import ApiToken, digest
from core.accounts.people import api as people_api
from core.accounts.permissions import person
from core.accounts.serializers import NewTokenSerializer, TokenSerializer


class TokenViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.DestroyModelMixin, GenericViewSet[ApiToken]
):
    """The tokens of all users; listing them needs the scope `admin`."""

    queryset = ApiToken.objects.select_related("user")
    serializer_class = TokenSerializer
    lookup_value_converter = "uuid"
    operations = dict.fromkeys(("list", "retrieve", "create", "destroy"), "token.manage")
    filterset_fields = {"user__username": ["exact"], "revoked_at": ["isnull"]}
    search_fields = ["name", "prefix", "user__username"]
    ordering_fields = ["name", "created_at", "expires_at", "last_used_at"]

    @extend_schema(request=TokenSerializer, responses={201: NewTokenSerializer})
    def create(self, request: Request) -> Response:
        """Create a token for yourself; `token` is in this response only."""
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        text = ApiToken.objects.issue(person(request.user), values["name"], values["scopes"], values.get("expires_at"))
        token = ApiToken.objects.select_related("user").get(digest=digest(text))
        answer = NewTokenSerializer(token, context={**self.get_serializer_context(), "text": text})
        return Response(answer.data, status=status.HTTP_201_CREATED)

    def perform_destroy(self, instance: ApiToken) -> None:
        """Revoke the token; its row is kept as a record of its past use."""
        instance.revoke()


router = SimpleRouter(use_regex_path=False)
router.register("tokens", TokenViewSet, basename="api-token")
urlpatterns: list[URLPattern | URLResolver] = [*router.urls, *people_api.router.urls]
