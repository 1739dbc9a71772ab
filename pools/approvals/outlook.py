"""What a page says before an act is asked for: whether it will wait for a second person, and who that may be."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from django.contrib.auth.models import User
from django.db.models import Model, Q

from core.accounts import operations
from core.accounts.access import Access
from core.accounts.models import Role
from core.accounts.operations import Operation
from pools.approvals import requests
from pools.approvals.arguments import Arguments
from pools.models import ApprovalRequest

NAMED_AT_MOST = 5


@dataclass(frozen=True)
class Outlook:
    """An act that will wait: why, the role that approving it takes, and the names of some who have it."""

    cluster: str
    role: str
    names: list[str]
    has_more: bool


def of(verb: str, given: Arguments, asker: object) -> Outlook | None:
    """Return what an act will wait for; None where it is done at once. The arguments are those of the verb, by name."""
    act = requests.VERBS[verb].act
    rules = next(iter(act.rules(given)), None)
    if rules is None:
        return None
    operation, record = operations.named(act.operation), act.record(given)
    found = [user.get_username() for user in islice(_who_may(operation, record, asker), NAMED_AT_MOST + 1)]
    needed = operation.role_on(record)
    role = str(needed.label) if isinstance(needed, Role) else ""
    return Outlook(rules.cluster.name, role, found[:NAMED_AT_MOST], len(found) > NAMED_AT_MOST)


def approvers(request: ApprovalRequest) -> list[User]:
    """Return the people who can decide on a request now."""
    return [user for user in _others(request.requester) if requests.may_decide(request, Access.by(user))]


def _who_may(operation: Operation, record: Model, asker: object) -> Iterator[User]:
    return (user for user in _others(asker) if Access.by(user).has_role(operation, record))


def _others(asker: object) -> Iterator[User]:
    """Yield the people who may do anything at all, without the one who asks, by name."""
    people = User.objects.filter(Q(is_staff=True) | Q(memberships__isnull=False), is_active=True).distinct()
    return (user for user in people.order_by("username").iterator() if user != asker)
