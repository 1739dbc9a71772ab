"""The REST API of a pooler's files: those that it shall have, secrets in clear, and those that were given to it."""

import logging
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.models import ApiToken
from core.accounts.permissions import person
from core.accounts.serializers import NewTokenSerializer, TokenSerializer
from core.audit.acts import record_reveal
from core.lib.known_fields import KnownFields
from pools.api.example_values import DATABASES_INI
from pools.api.pooler_serializers import PoolerSerializer
from pools.deployment import wanted_files
from pools.deployment.wanted_files import WantedFiles
from pools.inventory import fetches, given_files, pooler_settings, pooler_settings_validation
from pools.inventory.fetches import FetchState
from pools.inventory.given_files import GivenFile
from pools.models import FileFetch, Pooler

logger = logging.getLogger(__name__)

AS = OpenApiParameter("as", str, enum=list(wanted_files.MAKERS), description=_("The format; default: `json`"))
NAME = OpenApiParameter("setting", location="path", description=_("The setting that points to the file"))
KNOWN = OpenApiParameter(
    "If-None-Match", str, location="header", description=_("The ETag of the files that you have: 304 for the same")
)


class WantedFileSerializer(serializers.Serializer[Any]):
    """A file as it has to be, secrets in clear."""

    name = serializers.CharField()
    content = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {"name": "pooldeck.ini", "content": DATABASES_INI}


class WantedFilesSerializer(serializers.Serializer[Any]):
    """All files of a pooler; `X-Pooldeck-Revision` is the number of their revision."""

    files = WantedFileSerializer(many=True)


class FetcherSerializer(serializers.Serializer[Any]):
    """A token that reads the files of a pooler, with what it fetched last; no `revision`: the files to start with."""

    token_id = serializers.UUIDField(source="token.pk")
    token_name = serializers.CharField(source="token.name")
    state = serializers.ChoiceField(
        FetchState.choices,
        help_text=_("`verified`: the console shows what these files say; `pending`: it does not yet"),
    )
    revision = serializers.IntegerField(allow_null=True)
    fetched_at = serializers.DateTimeField(allow_null=True, help_text=_("The last transfer"))
    asked_at = serializers.DateTimeField(
        allow_null=True, help_text=_("The last request, to the minute; 304 is an answer too")
    )

    example: dict[str, object] = {
        "token_name": "db-1",
        "state": "verified",
        "revision": 12,
        "fetched_at": "2026-03-05T16:12:04Z",
        "asked_at": "2026-03-05T16:30:00Z",
    }


class GivenFileSerializer(serializers.Serializer[Any]):
    """A given file without its content, which is never returned."""

    setting = serializers.CharField()
    subject = serializers.CharField(allow_null=True)
    issuer = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    fingerprint = serializers.CharField(
        allow_null=True, help_text=_("SHA-256; of a private key, that of its public half")
    )
    warning = serializers.CharField(allow_blank=True)
    author = serializers.CharField(allow_null=True)
    updated_at = serializers.DateTimeField()

    example: dict[str, object] = {
        "setting": "client_tls_cert_file",
        "subject": "CN=pgbouncer1.example.org",
        "issuer": "CN=Example Internal CA",
        "expires_at": "2027-03-02T00:00:00Z",
        "fingerprint": "3f:9a:…:c4",
        "warning": "",
        "author": "admin",
    }


class ContentSerializer(KnownFields):
    """The text of a file, write-only."""

    content = serializers.CharField(trim_whitespace=False, write_only=True)

    example: dict[str, object] = {"content": "hostssl all all 10.20.0.0/16 scram-sha-256\n"}


class ContentsSerializer(KnownFields):
    """Several files at once, by setting, such as a certificate and its key."""

    files = serializers.DictField(child=serializers.CharField(trim_whitespace=False), write_only=True)

    example: dict[str, object] = {"files": {"auth_hba_file": ContentSerializer.example["content"]}}


class AskedTokenSerializer(KnownFields):
    """A token for the program that fetches the files; it reads them, and nothing else."""

    name = serializers.CharField(max_length=100, required=False, help_text=_("Default: `files of` the pooler's name"))
    expires_at = serializers.DateTimeField(required=False, allow_null=True)

    validate_expires_at = TokenSerializer.validate_expires_at


class FileActions(GenericViewSet[Pooler]):
    """Actions of a pooler on the files that it shall have."""

    revealing_actions = frozenset({"files"})

    @extend_schema(request=AskedTokenSerializer, responses={201: NewTokenSerializer})
    @action(detail=True, methods=["post"], url_path="files-token")
    def files_token(self, request: Request, pk: str) -> Response:
        """Create a token that reads the files of this pooler and nothing else; `token` is in this response only."""
        serializer = AskedTokenSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        token, text = fetches.issue_token(
            self.get_object(), person(request.user), values.get("name", ""), values.get("expires_at")
        )
        answer = NewTokenSerializer(token, context={**self.get_serializer_context(), "text": text})
        return Response(answer.data, status=status.HTTP_201_CREATED)

    @extend_schema(
        parameters=[AS, KNOWN],
        responses={
            (200, "application/json"): WantedFilesSerializer,
            (200, "application/x-tar"): OpenApiTypes.BINARY,
            304: OpenApiResponse(description=_("You have them: their ETag is the one that you sent")),
        },
        filters=False,
    )
    @action(detail=True)
    def files(self, request: Request, pk: str) -> HttpResponseBase:
        """Return the files that a managed pooler shall have, secrets in clear, with a strong ETag over them."""
        kind = request.query_params.get("as", "json")
        if kind not in wanted_files.MAKERS:
            text = gettext("%(format)r is not a format of files: choose one of %(choices)s")
            raise ValidationError({"as": [text % {"format": kind, "choices": ", ".join(wanted_files.MAKERS)}]})
        pooler = self.get_object()
        files = wanted_files.of(pooler)
        whole = _answer(files, kind)
        found = get_conditional_response(request._request, etag=whole.headers["ETag"], response=whole) or whole
        if isinstance(request.auth, ApiToken):  # a person who looks at them in a browser puts them nowhere
            if files.revision:
                files.revision.mark_fetched()
            FileFetch.objects.note(pooler, request.auth, files.revision, transferred=found is whole)
        if found is whole:
            logger.info("files of pooler %s, %s, given to %s", pooler.pk, files.revision or "first", request.user)
            record_reveal(pooler, "files")
        return found

    @extend_schema(responses=FetcherSerializer(many=True), filters=False)
    @action(detail=True)
    def fetches(self, request: Request, pk: str) -> Response:
        """List the tokens that fetched its files, the latest first, and the limited ones that never did."""
        found = fetches.of(self.get_object())
        return self.get_paginated_response(FetcherSerializer(self.paginate_queryset(found), many=True).data)

    @extend_schema(responses=GivenFileSerializer(many=True), filters=False)
    @action(detail=True, url_path="given-files")
    def given_files(self, request: Request, pk: str) -> Response:
        """List the files that were given to it, without their contents."""
        found = [given_file_row(one) for one in given_files.listed(self.get_object()) if one.file]
        return self.get_paginated_response(GivenFileSerializer(self.paginate_queryset(found), many=True).data)

    @extend_schema(request=ContentsSerializer, responses={200: PoolerSerializer})
    @files.mapping.post
    def give_files(self, request: Request, pk: str) -> Response:
        """Give it several files at once, such as a certificate and its key; a worker applies them."""
        serializer = ContentsSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        pooler = self.get_object()
        pooler_settings.give_files(pooler, serializer.validated_data["files"], person(request.user))
        return Response(self.get_serializer(pooler).data)

    @extend_schema(parameters=[NAME], request=ContentSerializer, responses=GivenFileSerializer)
    @action(detail=True, methods=["put"], url_path="files/<slug:setting>")
    def file(self, request: Request, pk: str, setting: str) -> Response:
        """Give it a file, which replaces its existing one; a worker applies it."""
        serializer = ContentSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        pooler = self.get_object()
        stored = pooler_settings.give_file(pooler, setting, serializer.validated_data["content"], person(request.user))
        record = pooler_settings_validation.files_offered(pooler)[setting]
        return Response(GivenFileSerializer(given_file_row(given_files.read(record, stored))).data)

    @extend_schema(parameters=[NAME], responses={204: None})
    @file.mapping.delete
    def remove_file(self, request: Request, pk: str, setting: str) -> Response:
        """Remove a given file; 404 if none was given, 400 while something needs it."""
        pooler = self.get_object()
        if not pooler.given_files.filter(setting=setting).exists():
            text = gettext("%(setting)s was not given to pooler %(pooler)s")
            raise NotFound(text % {"setting": setting, "pooler": pooler})
        pooler_settings.remove_file(pooler, setting, person(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _answer(wanted: WantedFiles, kind: str) -> HttpResponse:
    content_type, make = wanted_files.MAKERS[kind]
    body = make(wanted)
    headers = {"ETag": wanted_files.etag(body), "Cache-Control": "no-store"}
    if wanted.revision is not None:
        headers["X-Pooldeck-Revision"] = str(wanted.revision.number)
    return HttpResponse(body, content_type=content_type, headers=headers)


def given_file_row(given: GivenFile) -> dict[str, object]:
    """Return a given file as `GivenFileSerializer` shows it."""
    certificate, file = given.certificate, given.file
    return {
        "setting": given.setting.name,
        "subject": certificate.subject if certificate else None,
        "issuer": certificate.issuer if certificate else None,
        "expires_at": certificate.expires_at if certificate else None,
        "fingerprint": given.fingerprint or None,
        "warning": certificate.warning if certificate else "",
        "author": file.author.get_username() if file and file.author else None,
        "updated_at": given.given_at,
    }
