"""Who may sign in by somebody else's word, as whom, and what they are then."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from core.accounts.sign_on import group_roles, newcomers, refusals
from core.accounts.sign_on.configuration import Grant, Voucher


class Refused(Exception):
    """The person may not sign in; `answer` is the page that says why."""

    def __init__(self, answer: HttpResponse) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True)
class Description:
    """A person as the voucher describes them; `details` has a name and an address where it knows them."""

    username: str
    groups: list[str]
    details: User | None = None

    @property
    def kept(self) -> dict[str, Any]:
        """What stays with the link."""
        return {"username": self.username, "groups": self.groups}


def admit(
    request: HttpRequest, voucher: Voucher, described: Description, known: User | None, link: Callable[[User], None]
) -> User:
    """Return the person, whose roles follow their groups then; `link` is called with one who was not linked before.

    Raises `Refused`.
    """
    grants = group_roles.given(voucher.rules, described.groups)
    if known is None:
        _refuse_newcomer(request, voucher, described, grants)
    with transaction.atomic():
        user = known or _linked(described, grants, link)
        if user.is_active:
            group_roles.follow(user, grants)
    if user.is_active and not grants and not newcomers.may_stay(user, voucher.rules):
        raise Refused(refusals.without_group(request, voucher, described.username, described.groups))
    return user


def _refuse_newcomer(request: HttpRequest, voucher: Voucher, described: Description, grants: list[Grant]) -> None:
    """Refuse a name that somebody has or nobody can have, and people in none of the groups."""
    namesake = newcomers.namesake(described.username)
    if namesake and voucher.link_by_name:
        return
    if namesake:
        raise Refused(refusals.name_taken(request, voucher, namesake.username))
    if not grants and not voucher.rules.allow_all:
        raise Refused(refusals.without_group(request, voucher, described.username, described.groups))
    if not newcomers.is_valid(described.username):
        raise Refused(refusals.name_invalid(request, voucher, described.username))


def _linked(described: Description, grants: list[Grant], link: Callable[[User], None]) -> User:
    """Return a new person, or the one of the same name where the settings say so."""
    user = newcomers.namesake(described.username)
    user = user or newcomers.create(described.username, described.details, has_grants=bool(grants))
    link(user)
    return user
