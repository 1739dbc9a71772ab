"""People whom a provider or a proxy knows and the panel does not yet."""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from core.accounts.models import AdminByGroups, MembershipSource
from core.accounts.sign_on.configuration import GroupRules


def namesake(username: str) -> User | None:
    """Return who has this user name already, however it is capitalized."""
    return User.objects.filter(username__iexact=username).first()


def is_valid(username: str) -> bool:
    """Tell whether a person of the panel can have this user name."""
    try:
        User._meta.get_field("username").clean(username, None)
    except ValidationError:
        return False
    return True


def create(username: str, described: User | None = None, *, has_grants: bool) -> User:
    """Make a person without a password; what `described` says of their name and address is taken over.

    One whose groups give a role gets no other; else they join the only team, as everybody does.
    """
    user = User(username=username)
    if described:
        user.first_name, user.last_name = described.first_name[:150], described.last_name[:150]
        user.email = described.email
    user.set_unusable_password()
    user.joins_first_team = not has_grants  # type: ignore[attr-defined]  # for the receiver in first_team
    user.save()
    return user


def may_stay(user: User, rules: GroupRules) -> bool:
    """Tell whether a person in no group that gives something may sign in: all may, or somebody gave them a role here.

    Whom nobody gave one has no business here any more, though they were let in once.
    """
    if rules.allow_all or user.memberships.filter(source=MembershipSource.HAND).exists():
        return True
    return user.is_staff and not AdminByGroups.objects.filter(user=user).exists()
