"""The REST API of poolers: their configuration, its revisions, and their console."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ModelViewSet

from core.accounts.access import allow
from core.accounts.people.placement import Placement
from core.accounts.permissions import person
from core.lib.wait_param import WAIT
from core.rest.compiled import listed
from pools import deployment, task_queue
from pools.api import pooler_settings
from pools.api.applications import PoolerApplicationAction
from pools.api.entries import EntryActions
from pools.api.filters import PoolerFilter
from pools.api.log import PoolerLogAction
from pools.api.pasted_poolers import WatchActions
from pools.api.pool_access import AccessActions
from pools.api.pooler_files import FileActions
from pools.api.pooler_nodes import NodeActions
from pools.api.pooler_serializers import AskedApplySerializer, AskedSerializer, PoolerSerializer
from pools.api.pooler_settings import SettingsActions
from pools.api.revision_serializers import ConfigSerializer
from pools.api.revisions import RevisionActions
from pools.api.take_overs import TakeOverActions
from pools.api.versions import expected_version
from pools.api.waiting import PoolerWaitingAction
from pools.deployment import adoption, live_files
from pools.errors import InvalidValues
from pools.inventory import poolers, settlement
from pools.models import Pooler
from pools.poolers import KINDS, shown_secrets

SHOWN = sorted({word for kind in KINDS.values() for word in kind.words})


class PoolerViewSet(
    WatchActions,
    EntryActions,
    RevisionActions,
    SettingsActions,
    NodeActions,
    AccessActions,
    TakeOverActions,
    FileActions,
    PoolerLogAction,
    PoolerWaitingAction,
    PoolerApplicationAction,
    ModelViewSet[Pooler],
):
    """Running PgBouncers and Pgpool-IIs."""

    queryset = Pooler.objects.prefetch_related("shared_with")
    serializer_class = PoolerSerializer
    lookup_value_converter = "uuid"
    destructive = frozenset({"apply", "take_over", "let_go", "rollback", "detach_node"})
    operations = {
        "list": "pooler.view",
        "retrieve": "pooler.view",
        "create": "pooler.create",
        "update": "pooler.change",
        "partial_update": "pooler.change",
        "destroy": "pooler.remove",
        "watch": "pooler.create",
        "config": "pooler.view",
        "waiting": "pooler.view",
        "apps": "pooler.view",
        "log": "pooler.view",
        "refused_logins": "pooler.view",
        "show": "pooler.view",
        "apply": "pooler.apply",
        "rollback": "pooler.apply",
        "revisions": "pooler.view",
        "revision": "pooler.view",
        "entries": "pooler.view",
        "all_settings": "pooler.view",
        "nodes": "pooler.view",
        "attach_node": "pooler.attach",
        "detach_node": "pooler.attach",
        "access": "pooler.view",
        "restrict_pools": "pooler.restrict",
        "take_over": "pooler.take_over",
        "let_go": "pooler.take_over",
        "files": "pooler.files",
        "files_token": "pooler.change",
        "fetches": "pooler.fetches",
        "given_files": "pooler.view",
        "give_files": "pooler.change",
        "file": "pooler.change",
        "remove_file": "pooler.change",
    }
    filterset_class = PoolerFilter
    search_fields = ["name", "host"]
    ordering_fields = ["name", "kind", "host", "state", "created_at", "updated_at"]

    def get_queryset(self) -> QuerySet[Pooler]:
        """Fetch lists of the teams that poolers are shared with."""
        poolers: QuerySet[Pooler] = super().get_queryset()
        if self.action != "list":
            return poolers
        return poolers.prefetch_related(None).prefetch_related(listed("shared_with"))

    def needs_no_reason(self, request: Request) -> bool:
        """Tell whether it previews a take-over, or applies what overwrites no edits; see `core.accounts.reasons`."""
        if self.action not in ("take_over", "apply") or not isinstance(request.data, Mapping):
            return False
        is_preview = request.data.get("dry_run") is True
        return is_preview if self.action == "take_over" else request.data.get("drift") != "overwrite"

    def perform_create(self, serializer: BaseSerializer[Pooler]) -> None:
        """Register a pooler; an unreachable one is saved too, with the reason in `error`."""
        values = serializer.validated_data
        placement, specs = Placement.out_of(values), pooler_settings.specs_of(values)
        if any(specs.values()):
            raise InvalidValues({name: [str(pooler_settings.TOO_EARLY)] for name in specs})
        allow(self.request, values.get("ssh_host"), to="host.use")
        team = placement.team_of_new(self.request, "pooler.create")
        pooler, _ = poolers.register(values, person(self.request.user), team=team)
        placement.put(self.request, pooler)
        serializer.instance = pooler

    def perform_update(self, serializer: BaseSerializer[Pooler]) -> None:
        """Change a pooler unless it was edited since `version`; without `admin_password` the stored one stays.

        A body of nothing but `team` and `shared_with` moves or shares it, without a check.
        """
        values = serializer.validated_data
        allow(self.request, values.get("ssh_host"), to="host.use")
        version = expected_version(self.request, values)
        pooler, author = self.get_object(), person(self.request.user)
        placement = Placement.out_of(values)
        placement.check(self.request, pooler)
        if specs := pooler_settings.specs_of(values):
            pooler_settings.refuse_unsound(pooler, specs)
        if values.keys() - {"version", *specs}:
            pooler, _ = poolers.change(pooler, values, version, author)
            version = None
        elif placement.is_asked and not specs:
            pooler.edit(version)
        if specs:
            pooler_settings.change(pooler, specs, self.request.method == "PUT", version, self.request)
        placement.put(self.request, pooler)
        serializer.instance = pooler

    def perform_destroy(self, instance: Pooler) -> None:
        """Remove a pooler's record; 409 while it has pools."""
        poolers.remove(instance)

    @extend_schema(responses=ConfigSerializer)
    @action(detail=True)
    def config(self, request: Request, pk: str) -> Response:
        """Return the files of the last apply, secrets masked."""
        return Response(ConfigSerializer(live_files.live_files(self.get_object())).data)

    @extend_schema(request=AskedApplySerializer, parameters=[WAIT], responses={202: AskedSerializer})
    @action(detail=True, methods=["post"])
    def apply(self, request: Request, pk: str) -> Response:
        """Request an apply of the pooler's pools; `revisions/` shows its progress."""
        serializer = AskedApplySerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        with self.may_wait():
            return self._applied(request, serializer.validated_data.get("drift"))

    def _applied(self, request: Request, drift: str | None) -> Response:
        pooler = self.get_object()
        pooler.require_managed()
        deployment.reset_to_pending(pooler)
        if drift == "adopt":
            adoption.adopt(pooler, person(request.user))
        elif drift:
            task_queue.ask_to_overwrite(pooler.pk, person(request.user))
        else:
            task_queue.ask([pooler.pk], person(request.user))
        pooler.refresh_from_db()
        detail = "" if drift else deployment.why_nothing_to_apply(pooler)
        self.until(
            pooler,
            lambda: settlement.is_pooler_settled(pooler.pk),
            lambda: self.get_serializer(self.get_object()).data | {"detail": detail},
        )
        return Response(self.get_serializer(pooler).data | {"detail": detail}, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        parameters=[OpenApiParameter("word", location="path", enum=SHOWN)],
        responses=OpenApiTypes.OBJECT,
        filters=False,
    )
    @action(detail=True, url_path="show/<word>")
    def show(self, request: Request, pk: str, word: str) -> Response:
        """Return the current rows of `SHOW WORD`, columns by name; the commands depend on the release."""
        pooler = self.get_object()
        words = KINDS[pooler.kind].words_of(pooler)
        if word not in words:
            text = gettext("%(word)r is not shown by %(kind)s: use one of %(choices)s")
            choices = ", ".join(words) or gettext("none")
            raise NotFound(text % {"word": word, "kind": pooler.get_kind_display(), "choices": choices})
        rows: Any = shown_secrets.mask_rows(KINDS[pooler.kind].show(pooler, word))
        return self.get_paginated_response(self.paginate_queryset(rows))
