"""Lists and the dashboard by team, where the installation has several: `?team=` in the address of a page."""

from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from core.accounts.access import Access
from core.accounts.models import Role, Team
from core.lib.query_params import id_of

Rows = TypeVar("Rows", bound=QuerySet[Any])


class AccessOfTeam(Access):
    """What somebody sees who is a member of one team alone; for pages by team, and never to decide what one may do."""

    is_admin = False
    sees_all = False

    def __init__(self, user: object, team: UUID) -> None:
        super().__init__(user)
        self.roles = {team: Role.VIEWER}


def chosen_team(request: HttpRequest) -> UUID | None:
    """Return the id of the team that the page is asked for; None for all, and for one that its user does not see."""
    access, key = Access.of(request), id_of(request.GET.get("team", ""))
    if key is None or not access.has_several_teams:
        return None
    return key if access.visible(Team.objects.filter(pk=key)).exists() else None


def of_team(request: HttpRequest, rows: Rows, path: str = "team") -> Rows:
    """Leave the rows that belong to the team that the page is asked for, if it is for one."""
    team = chosen_team(request)
    return rows.filter(**{path: team}) if team else rows


def access_of(request: HttpRequest) -> Access:
    """Return the access that the dashboard shows: the user's, or as much of it as one team sees."""
    team = chosen_team(request)
    return AccessOfTeam(request.user, team) if team else Access.of(request)
