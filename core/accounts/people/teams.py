"""Creates, renames and removes teams, and changes who their members are."""

from collections.abc import Iterator
from typing import NamedTuple

from django.apps import apps
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from core.accounts.models import FIRST_TEAM, Membership, OwnedByTeam, Role, Team
from core.accounts.people import persons
from core.accounts.people.errors import InvalidValues, Refused

NAMED_AT_MOST = 5  # records of a kind that a refusal names


class LastOwner(Refused):
    """A team would have no owner, which takes a confirmation."""


class Holding(NamedTuple):
    """What a team owns of one kind: its name in the plural where there are several, and some of its records."""

    kind: str
    number: int
    names: list[str]

    def __str__(self) -> str:
        unnamed = ["…"] if self.number > len(self.names) else []
        return f"{self.number} {self.kind} ({', '.join([*self.names, *unnamed])})"


def create(name: str) -> Team:
    """Make a team without members. Raises `InvalidValues` for a name that another has."""
    return Team.objects.create(name=_free(name))


def rename(team: Team, name: str) -> Team:
    """Give a team another name. Raises `InvalidValues` for one that another has."""
    team.name = _free(name, but=team)
    team.save(update_fields=["name"])
    return team


def holdings(team: Team) -> list[Holding]:
    """Return what belongs to a team, by kind."""
    return [found for model in apps.get_models() if issubclass(model, OwnedByTeam) for found in _of(model, team)]


def remove(team: Team) -> None:
    """Delete a team with its memberships, invitations and tokens. Raises `Refused` while something belongs to it."""
    if team.pk == FIRST_TEAM:
        text = _("%(team)s is the team of what is made without a choice of one: rename it in place of removing it")
        raise Refused(text % {"team": team})
    try:
        with transaction.atomic():
            _refuse_holder(team)
            User.objects.filter(api_tokens__team=team).delete()  # and with these accounts its tokens
            team.delete()
    except ProtectedError:  # something was made in between
        _refuse_holder(team)
        raise


def add_member(team: Team, username: str, role: str) -> Membership:
    """Let a person into a team. Raises `InvalidValues` for an unknown name, and for who is a member already."""
    user = persons.people().filter(username=username.strip()).first()
    if user is None:
        text = _("nobody here is called %(name)s: enter the name that they log in with, or invite them by a link")
        raise InvalidValues({"username": [text % {"name": username}]})
    membership, is_new = Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})
    if not is_new:
        text = _("%(name)s is a member already, as %(role)s: change the role")
        raise InvalidValues({"username": [text % {"name": user, "role": Role(membership.role).label}]})
    return membership


def change_role(membership: Membership, role: str, *, leave_without_owner: bool = False) -> None:
    """Give a member another role. Raises `LastOwner` where the team then has no owner and that was not confirmed."""
    with transaction.atomic():
        if role != Role.OWNER and not leave_without_owner:
            _refuse_last_owner(membership)
        membership.role = role
        membership.save(update_fields=["role"])


def remove_member(membership: Membership, *, leave_without_owner: bool = False) -> None:
    """End a membership. Raises `LastOwner` where the team then has no owner and that was not confirmed."""
    with transaction.atomic():
        if not leave_without_owner:
            _refuse_last_owner(membership)
        membership.delete()


def is_last_owner(membership: Membership) -> bool:
    """Tell whether the team has no other owner who can sign in."""
    if membership.role != Role.OWNER:
        return False
    owners = Membership.objects.filter(team_id=membership.team_id, role=Role.OWNER, user__is_active=True)
    return not owners.exclude(pk=membership.pk).exists()


def _refuse_last_owner(membership: Membership) -> None:
    Team.objects.select_for_update().get(pk=membership.team_id)  # two owners who remove each other wait here
    if is_last_owner(membership):
        text = _("%(name)s is the last owner of %(team)s: make another member an owner first, or confirm this")
        raise LastOwner(text % {"name": membership.user, "team": membership.team})


def _refuse_holder(team: Team) -> None:
    if held := holdings(team):
        text = _("%(team)s still owns %(held)s: move these to another team or remove them first")
        raise Refused(text % {"team": team, "held": ", ".join(map(str, held))})


def _of(model: type[OwnedByTeam], team: Team) -> Iterator[Holding]:
    rows = model._default_manager.filter(team=team)
    if count := rows.count():
        kind = model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural
        yield Holding(str(kind), count, sorted(map(str, rows[:NAMED_AT_MOST])))


def _free(name: str, but: Team | None = None) -> str:
    name = name.strip()
    others = Team.objects.exclude(pk=but.pk) if but else Team.objects.all()
    if others.filter(name__iexact=name).exists():
        raise InvalidValues({"name": [_("another team is called %(name)s: choose another name") % {"name": name}]})
    return name
