"""The team of records in the API: the fields `team` and `shared_with`, how they are written, and lists by team."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import django_filters
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from core.accounts.access import Access
from core.accounts.models import FIRST_TEAM, OwnedByTeam, Team
from core.lib.known_fields import KnownFields
from core.rest.compiled import CompiledSerializer, listed_of
from core.rest.visible import VisibleField

OF_TEAM = _(
    "The id of the team that it belongs to. Something new belongs to the caller's only team; who may make it in "
    "several has to name one, and an administrator who names none gets the first. Moving takes an owner of both teams"
)
OF_SHARES = _(
    "The ids of other teams whose members see and use it, up to operator; of these the caller reads and writes those "
    "that they see"
)


class TeamField(VisibleField):
    """The id of a team that the caller sees; that of the record itself is always taken, so that answers can be sent."""

    def to_internal_value(self, data: Any) -> Any:  # noqa: ANN401 (whatever the body has)
        """Return the team; 400 where the caller sees none of that id."""
        current = getattr(self.parent, "instance", None)
        if isinstance(current, OwnedByTeam) and str(data) == str(current.team_id):
            return current.team
        return super().to_internal_value(data)


class SharesField(serializers.ManyRelatedField):
    """The ids of the teams that a record is shared with, as far as the caller sees these teams."""

    def get_attribute(self, instance: OwnedByTeam) -> list[Team]:
        """Return the teams, from what the list has fetched."""
        return list(_teams_seen(instance, self.context["request"]))

    @staticmethod
    def read_of(instance: OwnedByTeam, serializer: serializers.BaseSerializer[Any]) -> list[UUID]:
        """Return the ids of the teams; see `core.rest.compiled`."""
        return [team.pk for team in _teams_seen(instance, serializer.context["request"])]


def _teams_seen(instance: OwnedByTeam, request: Request) -> Iterator[Team]:
    if shares := listed_of(instance, "shared_with"):
        access = Access.of(request)
        yield from (team for team in shares if access.sees_all or team.pk in access.roles)


class OwnedSerializer(CompiledSerializer, KnownFields):
    """A record that belongs to a team; `core.accounts.people.placement` writes the two fields."""

    team = TeamField(queryset=Team.objects.all(), required=False, help_text=OF_TEAM)
    shared_with = SharesField(
        child_relation=VisibleField(queryset=Team.objects.all()),
        required=False,
        help_text=OF_SHARES,  # type: ignore[arg-type]  # the stubs know no lazy texts here
    )


OWNED = ("team", "shared_with")
EXAMPLE: dict[str, object] = {"team": str(FIRST_TEAM), "shared_with": []}  # of what belongs to a team


class TeamFilter(django_filters.UUIDFilter):  # type: ignore[misc]  # django-filter carries no types
    """Leaves what belongs to a team; of one that the caller does not see, nothing is left, as of one that is none."""

    def __init__(self, field_name: str = "team", **options: Any) -> None:  # django-filter's own, passed on
        super().__init__(field_name=field_name, label=_("The id of a team"), **options)
