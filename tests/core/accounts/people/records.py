"""Teams, members and browsers of them."""

from django.contrib.auth.models import User
from django.test import Client

from core.accounts.models import Membership, Role, Team
from tests.callers import person


def a_team(name: str = "Payments") -> Team:
    return Team.objects.create(name=name)


def a_member(team: Team, name: str, role: Role) -> User:
    """A user with this role in the team, and in no other."""
    user = person(name, staff=False)
    Membership.objects.filter(user=user).delete()
    Membership.objects.create(team=team, user=user, role=role)
    return user


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client
