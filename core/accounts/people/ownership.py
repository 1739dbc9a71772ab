"""To which team a record belongs: chosen where it is made, and changed by who owns both teams."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from django import forms
from django.apps import apps
from django.db import transaction
from django.db.models import UniqueConstraint
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.accounts.access import Access
from core.accounts.models import FIRST_TEAM, Membership, OwnedByTeam, Team
from core.accounts.people.errors import InvalidValues
from core.audit.acts import subject_of
from core.audit.recording import record
from core.audit.tracking import TRACKED

if TYPE_CHECKING:
    from rest_framework.request import Request

Form = TypeVar("Form", bound=forms.BaseForm)
CHOICES_NAMED = 20  # teams that a refusal names
# kinds whose page has their team, and the names of these pages
WITH_PAGE = {
    **{kind: f"{kind}-detail" for kind in ("cluster", "pooler", "host", "script", "profile", "playbook")},
    "external_endpoint": "external-edit",
}

WITH_PARTS = {"cluster", "pooler", "external_endpoint"}  # what belongs to one of these follows it to another team


def model_of(kind: str) -> type[OwnedByTeam] | None:
    """Return the model of records of this kind, as the audit trail names it; None for a kind without such a page."""
    owned = (model for model in apps.get_models() if issubclass(model, OwnedByTeam) and model in TRACKED)
    return next((model for model in owned if TRACKED[model].kind == kind and kind in WITH_PAGE), None)


def offer_team(request: HttpRequest, form: Form, operation: str, *, is_preset: bool = False) -> Form:
    """Add the field `team` to the form of something new, where the installation has several.

    It is hidden where only one fits, and begins with the first one where it `is_preset`.
    """
    access = Access.of(request)
    if access.has_several_teams:
        teams = access.teams(operation)
        first, has_choice = teams.first(), teams.count() > 1
        form.fields["team"] = forms.ModelChoiceField(
            teams,
            label=gettext_lazy("Team"),
            initial=first if is_preset or not has_choice else None,
            widget=forms.Select if has_choice else forms.HiddenInput,
            empty_label=None if is_preset else gettext_lazy("Choose a team"),
            help_text=gettext_lazy("The team that it belongs to"),
        )
    return form


def chosen_team(request: HttpRequest, form: forms.BaseForm, operation: str) -> Team | None:
    """Take the team that a valid form chose out of its values, else the only one in which its user may do this."""
    chosen: Team | None = form.cleaned_data.pop("team", None)
    return chosen or Access.of(request).teams(operation).first()


def team_of_new(request: "Request", chosen: Team | None, operation: str) -> Team:
    """Return the team of something new that the API makes: the chosen one, or the caller's only fitting one.

    An administrator's is the first team, as it was before there were several. Raises `InvalidValues` where others have
    several and name none, and for a team in which the caller may not make it.
    """
    access = Access.of(request)
    if chosen is None and access.is_admin:
        return Team.objects.get(pk=FIRST_TEAM)
    fitting = list(access.teams(operation))
    if chosen is None and len(fitting) == 1:
        return fitting[0]
    if chosen in fitting:
        return chosen
    choices = ", ".join(f"{team.pk} ({team})" for team in fitting[:CHOICES_NAMED]) or _("none")
    text = (
        _("you may make this in several teams: give the id of one as team: %(choices)s")
        if chosen is None
        else _("you may not make this in the team %(team)s: give the id of one of yours: %(choices)s")
    )
    raise InvalidValues({"team": [text % {"team": chosen, "choices": choices}]})


def refuse_namesake(owned: OwnedByTeam, team: Team) -> None:
    """Raise `InvalidValues` where the team has a record of this name already, and names are unique within a team."""
    model = type(owned)
    is_by_team = any(
        isinstance(one, UniqueConstraint) and set(one.fields) == {"team", "name"} for one in model._meta.constraints
    )
    name = getattr(owned, "name", "")
    if is_by_team and model._default_manager.filter(**{"team": team, "name": name}).exclude(pk=owned.pk).exists():
        text = _("%(team)s has a %(kind)s named %(name)s already: rename one of them first")
        raise InvalidValues({"team": [text % {"team": team, "kind": model._meta.verbose_name, "name": name}]})


def losing(owned: OwnedByTeam, team: Team, shared_with: Iterable[Team]) -> int:
    """Return how many members of the record's team would see it no more, administrators left aside."""
    seeing = Membership.objects.filter(team__in=[team, *shared_with]).values("user")
    members = Membership.objects.filter(team=owned.team_id, user__is_active=True, user__is_staff=False)
    return members.exclude(user__in=seeing).count()


def place(owned: OwnedByTeam, team: Team, shared_with: Iterable[Team]) -> None:
    """Let a record belong to a team, and share it with exactly these others.

    Raises `InvalidValues` where the team has a record of its name, and these are unique within a team.
    """
    refuse_namesake(owned, team)
    others = {one.pk: one for one in shared_with if one != team}
    before: dict[UUID, Team] = {one.pk: one for one in owned.shared_with.all()}
    with transaction.atomic():
        if owned.team_id != team.pk:
            owned.team_id = team.pk
            owned.save(update_fields=["team"])
        if before.keys() != others.keys():
            owned.shared_with.set(others.values())
            old, new = ({"shared_with": sorted(map(str, teams.values()))} for teams in (before, others))
            record(f"{TRACKED[type(owned)].kind}.share", subject_of(owned), before=old, after=new)
