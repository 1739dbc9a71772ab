"""The REST API of a pooler's own settings: catalog, given and live values."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from pools.api.sql_rights import sql_right
from pools.errors import InvalidValues
from pools.inventory import pooler_settings, pooler_settings_validation
from pools.inventory.pooler_settings import InvalidSettings
from pools.inventory.sql_settings import NotAllowed
from pools.models import Pooler
from pools.poolers import KINDS, live_settings, settings_schema, shown_secrets
from pools.poolers.settings_schema import Scope, Setting, Type

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

TOO_EARLY = _("register it first: its settings depend on its release")


class DesiredSettings(TypedDict, total=False):
    """The settings in an edit of a pooler; None removes one."""

    settings: dict[str, object]
    user_settings: dict[str, dict[str, object]]


class SettingRow(TypedDict):
    """A setting as `SettingSerializer` shows it."""

    name: str
    scope: str
    type: str
    group: str
    label: str
    help: "StrOrPromise"
    manual_url: str
    default: str
    unit: str
    minimum: float | None
    maximum: float | None
    choices: list[str]
    may_be_empty: bool
    restart: bool
    only_shown: "StrOrPromise"
    value: object
    live: str | None


class SettingSerializer(serializers.Serializer[SettingRow]):
    """A setting of this release: what it accepts, its given value, and its live one (null: unknown)."""

    name = serializers.CharField()
    scope = serializers.ChoiceField([scope.value for scope in Scope])
    type = serializers.ChoiceField([kind.value for kind in Type])
    group = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the word for it, not the field's
    help = serializers.CharField()
    manual_url = serializers.CharField(
        allow_blank=True, help_text=_("The address of its explanation in the manual of the pooler's release")
    )
    default = serializers.CharField(allow_blank=True)
    unit = serializers.CharField(allow_blank=True)
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    choices = serializers.ListField(child=serializers.CharField())
    may_be_empty = serializers.BooleanField(help_text=_("Whether an empty text is a value; else it counts as null"))
    restart = serializers.BooleanField(help_text=_("The program reads it only at its start"))
    only_shown = serializers.CharField(allow_blank=True, help_text=_("Why the panel does not set it"))
    value = serializers.JSONField(allow_null=True, help_text=_("What the panel sets; null: nothing, so the default"))
    live = serializers.CharField(allow_null=True, allow_blank=True)

    example: dict[str, object] = {
        "name": "max_client_conn",
        "group": "Pools and clients",
        "label": "max_client_conn",
        "help": "PgBouncer accepts at most this many client connections (default 100), and refuses further ones.",
        "manual_url": "https://www.pgbouncer.org/config.html#max_client_conn",
        "default": "100",
        "unit": "",
        "maximum": None,
        "choices": [],
        "only_shown": "",
        "value": "500",
        "live": "500",
    }


class SettingsActions(GenericViewSet[Pooler]):
    """`settings/` of a pooler: all of its release with default, stored and live value, and their change."""

    @extend_schema(responses=SettingSerializer(many=True), filters=False)
    @action(detail=True, url_path="settings")
    def all_settings(self, request: Request, pk: str) -> Response:
        """List all settings of its release, of the program, of pools and of users, in the order of its pages."""
        pooler = self.get_object()
        live = shown_secrets.mask_values(live_settings.read(pooler) or {})
        found = [
            setting_row(setting, pooler, live)
            for scope in (Scope.PROGRAM, Scope.POOL, Scope.USER)
            for setting in settings_schema.shown(
                KINDS[pooler.kind].catalog, scope, pooler_settings_validation.release_of(pooler)
            )
        ]
        page: Any = self.paginate_queryset(found)
        return self.get_paginated_response(SettingSerializer(page, many=True).data)


def setting_row(setting: Setting, pooler: Pooler, live: Mapping[str, str]) -> SettingRow:
    """Return a setting as `SettingSerializer` shows it; those of pools and users have their values there."""
    of_program = setting.scope == Scope.PROGRAM
    return {
        "name": setting.name,
        "scope": setting.scope.value,
        "type": setting.type.value,
        "group": setting.group,
        "label": setting.label,
        "help": setting.help,
        "manual_url": pooler_settings_validation.manual_url(pooler, setting),
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


def specs_of(values: DesiredSettings) -> DesiredSettings:
    """Return `settings` and `user_settings` of an edit's validated values, as far as they are given."""
    specs: DesiredSettings = {}
    if "settings" in values:
        specs["settings"] = values["settings"]
    if "user_settings" in values:
        specs["user_settings"] = values["user_settings"]
    return specs


def refuse_unsound(pooler: Pooler, specs: DesiredSettings) -> None:
    """Raise `InvalidValues` for what its release does not accept, before anything of an edit is saved."""
    known, settings = pooler_settings_validation.offered(pooler, Scope.PROGRAM), specs.get("settings", {})
    sound = {
        name: value
        for name, value in settings.items()
        if not pooler_settings_validation.removes(known.get(name), value)
    }
    with _blaming("settings"):
        InvalidSettings.refuse(pooler_settings_validation.value_problems(pooler, Scope.PROGRAM, sound))
    for user in specs.get("user_settings", {}):
        with _blaming("user_settings", user):
            InvalidSettings.refuse(pooler_settings_validation.user_problems(pooler, user))


def change(pooler: Pooler, specs: DesiredSettings, whole: bool, version: int | None, request: Request) -> Pooler:
    """Save `settings` and `user_settings` as pending; raises `InvalidValues` or `Stale`, and then saves nothing.

    Names that are left out stay, unless `whole` (PUT): then they are removed. So are the limits of an empty user.
    """
    author = person(request.user)
    with transaction.atomic():
        if "settings" in specs:
            settings = (dict.fromkeys(pooler.settings) if whole else {}) | specs["settings"]
            with _blaming("settings"):
                pooler_settings.change_settings(pooler, settings, version, author, sql_right(request))
            version = None
        users = specs.get("user_settings", {})
        gone = pooler.user_settings.keys() - users.keys() if whole and "user_settings" in specs else ()
        for user, limits in (users | {user: {} for user in gone}).items():
            before = dict.fromkeys(pooler.user_settings.get(user, {})) if whole or not limits else {}
            with _blaming("user_settings", user):
                pooler_settings.change_user_settings(pooler, user, before | (limits or {}), version, author)
            version = None
    return pooler


@contextmanager
def _blaming(field: str, user: str = "") -> Iterator[None]:
    """Raise errors by setting as errors of the request's field, with the user's name where one is given."""
    try:
        yield
    except InvalidSettings as error:
        raise InvalidValues(_under(field, user, error)) from error
    except NotAllowed as error:
        raise NotAllowed(_under(field, user, error)) from error


def _under(field: str, user: str, error: InvalidValues) -> dict[str, list[str]]:
    found = [message for messages in error.errors.values() for message in messages]
    if user:
        text = gettext("user %(user)s: %(message)s")
        found = [text % {"user": user, "message": message} for message in found]
    return {field: found}
