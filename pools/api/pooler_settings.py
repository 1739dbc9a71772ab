"""The REST API of a pooler's own settings: the catalogue with what is given and live, and the files given to it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from panel.accounts.permissions import person
from panel.lib.known_fields import KnownFields
from pools.api.serializers import PoolerSerializer
from pools.api.sql_rights import sql_right
from pools.errors import InvalidValues
from pools.inventory import pooler_settings, pooler_settings_validation
from pools.inventory.pooler_settings import InvalidSettings
from pools.inventory.sql_settings import NotAllowed
from pools.models import Pooler
from pools.poolers import KINDS, settings_schema
from pools.poolers.settings_schema import Scope, Setting, Type
from pools.views import settings_context
from pools.views.settings_context import Given

DESIRED = ("settings", "user_settings")
TOO_EARLY = "register it first: what it takes depends on its release"
NAME = OpenApiParameter("setting", location="path", description="The setting that points to the file")


class SettingSerializer(serializers.Serializer[Any]):
    """A setting that this release knows: what it takes, what is given, and what is live (null: not told)."""

    name = serializers.CharField()
    scope = serializers.ChoiceField([scope.value for scope in Scope])
    type = serializers.ChoiceField([kind.value for kind in Type])
    group = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the word for it, not the field's
    help = serializers.CharField(allow_blank=True)
    default = serializers.CharField(allow_blank=True)
    unit = serializers.CharField(allow_blank=True)
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    choices = serializers.ListField(child=serializers.CharField())
    may_be_empty = serializers.BooleanField(help_text="An empty text is a value of its own; else it is as null")
    restart = serializers.BooleanField(help_text="The program reads it at its start only")
    only_shown = serializers.CharField(allow_blank=True, help_text="Why the panel does not give it")
    value = serializers.JSONField(allow_null=True, help_text="What the panel gives; null: nothing, so the default")
    live = serializers.CharField(allow_null=True, allow_blank=True)


class GivenFileSerializer(serializers.Serializer[Any]):
    """A file that was given, as far as it may be told; its content is never answered."""

    setting = serializers.CharField()
    subject = serializers.CharField(allow_null=True)
    issuer = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    fingerprint = serializers.CharField(allow_null=True, help_text="SHA-256; of a private key, that of its public half")
    warning = serializers.CharField(allow_blank=True)
    author = serializers.CharField(allow_null=True)
    updated_at = serializers.DateTimeField()


class ContentSerializer(KnownFields):
    """The text of a file, going in only."""

    content = serializers.CharField(trim_whitespace=False, write_only=True)


class ContentsSerializer(KnownFields):
    """Several files at once, by setting, as a certificate and its key."""

    files = serializers.DictField(child=serializers.CharField(trim_whitespace=False), write_only=True)


class SettingsActions(GenericViewSet[Pooler]):
    """What the view of poolers answers about their settings and files."""

    @extend_schema(responses=SettingSerializer(many=True), filters=False)
    @action(detail=True, url_path="settings")
    def all_settings(self, request: Request, pk: str) -> Response:
        """All settings that its release knows, of the program, of pools and of users, in the order of its pages."""
        pooler = self.get_object()
        live = pooler_settings.live_config(pooler)
        found = [
            described(setting, pooler, live)
            for scope in (Scope.PROGRAM, Scope.POOL, Scope.USER)
            for setting in settings_schema.shown(
                KINDS[pooler.kind].catalogue, scope, pooler_settings_validation.release_of(pooler)
            )
        ]
        return self.get_paginated_response(SettingSerializer(self.paginate_queryset(found), many=True).data)

    @extend_schema(responses=GivenFileSerializer(many=True), filters=False)
    @action(detail=True)
    def files(self, request: Request, pk: str) -> Response:
        """The files that were given to it, without their contents."""
        found = [reported(one) for one in settings_context.given_files(self.get_object()) if one.file]
        return self.get_paginated_response(GivenFileSerializer(self.paginate_queryset(found), many=True).data)

    @extend_schema(request=ContentsSerializer, responses={200: PoolerSerializer})
    @files.mapping.post
    def give_files(self, request: Request, pk: str) -> Response:
        """Give it several files at once, as a certificate and its key; brought live by a worker."""
        asked = ContentsSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        pooler = self.get_object()
        pooler_settings.give_files(pooler, asked.validated_data["files"], person(request.user))
        return Response(self.get_serializer(pooler).data)

    @extend_schema(parameters=[NAME], request=ContentSerializer, responses=GivenFileSerializer)
    @action(detail=True, methods=["put"], url_path="files/<slug:setting>")
    def file(self, request: Request, pk: str, setting: str) -> Response:
        """Give it a file, in the place of the one it had; brought live by a worker."""
        asked = ContentSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        pooler = self.get_object()
        given = pooler_settings.give_file(pooler, setting, asked.validated_data["content"], person(request.user))
        record = pooler_settings_validation.files_offered(pooler)[setting]
        return Response(GivenFileSerializer(reported(settings_context.given(record, given))).data)

    @extend_schema(parameters=[NAME], responses={204: None})
    @file.mapping.delete
    def remove_file(self, request: Request, pk: str, setting: str) -> Response:
        """Take a given file away; 404 where none was given, 400 while something needs it."""
        pooler = self.get_object()
        if not pooler.given_files.filter(setting=setting).exists():
            raise NotFound(f"{setting} was not given to pooler {pooler}")
        pooler_settings.remove_file(pooler, setting, person(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)


def described(setting: Setting, pooler: Pooler, live: Mapping[str, str]) -> dict[str, Any]:
    """A setting as `SettingSerializer` shows it; values of pools and users stand with these."""
    of_program = setting.scope == Scope.PROGRAM
    return {
        "name": setting.name,
        "scope": setting.scope.value,
        "type": setting.type.value,
        "group": setting.group,
        "label": setting.title,
        "help": setting.help,
        "default": setting.default,
        "unit": setting.unit,
        "minimum": setting.minimum,
        "maximum": setting.maximum,
        "choices": list(setting.choices),
        "may_be_empty": setting.may_be_empty,
        "restart": setting.restart,
        "only_shown": setting.fixed,
        "value": pooler.settings.get(setting.name) if of_program else None,
        "live": live.get(setting.name) if of_program else None,
    }


def reported(given: Given) -> dict[str, Any]:
    """A given file as `GivenFileSerializer` shows it."""
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


def specs_of(values: dict[str, Any]) -> dict[str, Any]:
    """`settings` and `user_settings`, taken out of the values of an edit."""
    return {name: values.pop(name) for name in DESIRED if name in values}


def refuse_unsound(pooler: Pooler, specs: Mapping[str, Any]) -> None:
    """Raise `InvalidValues` for what its release does not take, before anything of an edit is saved."""
    known, given = pooler_settings_validation.offered(pooler, Scope.PROGRAM), specs.get("settings", {})
    sound = {
        name: value
        for name, value in given.items()
        if not pooler_settings_validation.takes_away(known.get(name), value)
    }
    with _blaming("settings"):
        InvalidSettings.refuse(pooler_settings_validation.value_problems(pooler, Scope.PROGRAM, sound))
    for user in specs.get("user_settings", {}):
        with _blaming("user_settings", f"user {user}: "):
            InvalidSettings.refuse(pooler_settings_validation.user_problems(pooler, user))


def change(pooler: Pooler, specs: Mapping[str, Any], whole: bool, version: int | None, request: Request) -> Pooler:
    """Make wishes of `settings` and `user_settings`; all of it, or `InvalidValues` or `Stale` and nothing.

    Names left out stay, unless the whole is given (PUT): then they go. An empty user has no limits any more.
    """
    author = person(request.user)
    with transaction.atomic():
        if "settings" in specs:
            given = (dict.fromkeys(pooler.settings) if whole else {}) | specs["settings"]
            with _blaming("settings"):
                pooler_settings.change_settings(pooler, given, version, author, sql_right(request))
            version = None
        users = specs.get("user_settings", {})
        gone = pooler.user_settings.keys() - users.keys() if whole and "user_settings" in specs else ()
        for user, limits in (users | {user: {} for user in gone}).items():
            before = dict.fromkeys(pooler.user_settings.get(user, {})) if whole or not limits else {}
            with _blaming("user_settings", f"user {user}: "):
                pooler_settings.change_user_settings(pooler, user, before | (limits or {}), version, author)
            version = None
    return pooler


@contextmanager
def _blaming(field: str, whose: str = "") -> Iterator[None]:
    """Put the errors of a verb, which are by setting, under the field that held them."""
    try:
        yield
    except InvalidSettings as error:
        raise InvalidValues(_under(field, whose, error)) from error
    except NotAllowed as error:
        raise NotAllowed(_under(field, whose, error)) from error


def _under(field: str, whose: str, error: InvalidValues) -> dict[str, list[str]]:
    return {field: [whose + message for messages in error.errors.values() for message in messages]}
