"""Roles that come from groups: at each sign-on they become what the groups give, and those made by hand stay."""

import logging
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction

from core.accounts.models import AdminByGroups, Membership, MembershipSource, Role, Team
from core.accounts.sign_on.configuration import Grant, GroupRules

logger = logging.getLogger(__name__)


def given(rules: GroupRules, groups: Iterable[str]) -> list[Grant]:
    """Return what these groups give here. A role in a team that nobody has created is none."""
    grants = rules.of(frozenset(groups))
    names = set(Team.objects.filter(name__in={grant.team for grant in grants}).values_list("name", flat=True))
    for grant in grants:
        if grant.team and grant.team not in names:
            logger.warning("group %s gives a role in the team %s, which there is not", grant.group, grant.team)
    return [grant for grant in grants if not grant.team or grant.team in names]


@transaction.atomic
def follow(user: User, grants: list[Grant]) -> None:
    """Give the person what their groups give, and take what groups gave before and give no longer."""
    roles = roles_of(grants)
    for membership in user.memberships.select_related("team"):
        role = roles.pop(membership.team, None)
        if membership.source == MembershipSource.GROUPS:
            _follow_one(membership, role)
    for team, role in roles.items():
        Membership.objects.create(user=user, team=team, role=role, source=MembershipSource.GROUPS)
    _follow_admin(user, any(not grant.team for grant in grants))


def roles_of(grants: list[Grant]) -> dict[Team, Role]:
    """Return the highest role that these give in each team."""
    teams = {team.name: team for team in Team.objects.filter(name__in={grant.team for grant in grants})}
    roles: dict[Team, Role] = {}
    for grant in grants:
        if team := teams.get(grant.team):
            role = Role(grant.role)
            roles[team] = max(roles.get(team, role), role, key=lambda one: one.rank)
    return roles


def _follow_one(membership: Membership, role: Role | None) -> None:
    if role is None:
        membership.delete()
    elif membership.role != role:
        membership.role = role
        membership.save(update_fields=["role"])


def _follow_admin(user: User, is_admin: bool) -> None:
    """Make the person an administrator, or unmake one whom groups had made; one made by hand stays one."""
    if is_admin and not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])
        AdminByGroups.objects.get_or_create(user=user)
    elif not is_admin and AdminByGroups.objects.filter(user=user).delete()[0] and user.is_staff:
        user.is_staff = user.is_superuser = False
        user.save(update_fields=["is_staff", "is_superuser"])
