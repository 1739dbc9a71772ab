"""The table of operations: what can be done, which role in a team it takes, and which scope of a token.

Each app declares its own in a module `operations`, which its AppConfig registers. Pages, the API and event streams name
the operation of each of their methods; `core.accounts.access` decides by this table alone.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from core.accounts.models import LimitKind, Role, Scope

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


OF_FILES = (LimitKind.FILES,)
OF_CLUSTER = (LimitKind.CLUSTER,)
OF_POOL = (LimitKind.CLUSTER, LimitKind.POOL)  # a pool belongs to its cluster


class Audience(Enum):
    """Who may do what no role in a team decides."""

    ANYONE = "anyone"  # no login is needed
    USERS = "users"  # each for themselves, and with what belongs to nobody
    ADMINS = "admins"  # administrators of the installation


@dataclass(frozen=True)
class Operation:
    """Something that can be done with a record, such as `pool.change`.

    `eased_by` names a flag of the record: where it is set, `eased_role` is enough. Administrators may do everything.
    `limits` are the kinds of limited tokens that may do it too. What only reads they all may within their limit, except
    for those of the files of a pooler.
    """

    name: str
    text: "StrOrPromise"
    role: Role | Audience
    scope: Scope
    eased_by: str = ""
    eased_role: Role | None = None
    limits: tuple[LimitKind, ...] = ()

    @property
    def only_reads(self) -> bool:
        """True if it shows what each viewer may see, wherever one team of several sees it."""
        return self.role is Role.VIEWER

    def role_on(self, record: object | None) -> Role | Audience:
        """Return the role that it takes on this record; without one, the lowest that may be enough."""
        if self.eased_role and (record is None or getattr(record, self.eased_by, False)):
            return self.eased_role
        return self.role


class UnknownOperation(LookupError):
    """No app has registered an operation of this name."""


_registered: dict[str, Operation] = {}


def register(*operations: Operation) -> None:
    """Add operations to the table; the same one again is no change. Raises `ValueError` for a second of one name."""
    for operation in operations:
        if _registered.setdefault(operation.name, operation) != operation:
            raise ValueError(f"there are two operations {operation.name}")


def named(name: str) -> Operation:
    """Return the operation of this name; raises `UnknownOperation`."""
    try:
        return _registered[name]
    except KeyError:
        raise UnknownOperation(f"no operation is called {name}: register it") from None


def registered() -> list[Operation]:
    """Return all operations, by name."""
    return sorted(_registered.values(), key=lambda operation: operation.name)


OPERATIONS = (
    Operation("public.read", _("See what needs no login"), Audience.ANYONE, Scope.READ, limits=OF_POOL),
    Operation("help.read", _("Read the documentation of the API"), Audience.USERS, Scope.READ, limits=OF_POOL),
    Operation("session.start", _("Log in"), Audience.ANYONE, Scope.READ),
    Operation("session.read", _("See one's own account"), Audience.USERS, Scope.READ),
    Operation("session.end", _("Log out, and end one's other sessions"), Audience.USERS, Scope.READ),
    Operation("account.change", _("Change one's own password and second factor"), Audience.USERS, Scope.ADMIN),
    Operation("token.own", _("List, create and revoke one's own tokens"), Audience.USERS, Scope.ADMIN),
    Operation("token.manage", _("List, create and revoke the tokens of a team"), Role.OWNER, Scope.ADMIN),
    Operation("secret.reveal", _("Reveal passwords wherever they are"), Audience.ADMINS, Scope.ADMIN),
    Operation("person.manage", _("Invite people and make them administrators"), Audience.ADMINS, Scope.ADMIN),
    Operation("team.view", _("See a team and its members"), Role.VIEWER, Scope.READ),
    Operation("team.members", _("Add and remove members of a team, and change their roles"), Role.OWNER, Scope.ADMIN),
    Operation("team.manage", _("Create, rename and remove teams"), Audience.ADMINS, Scope.ADMIN),
    Operation("audit.view", _("See the audit trail of what belongs to a team"), Role.OWNER, Scope.READ),
    Operation("installation.view", _("See the state of the installation"), Audience.USERS, Scope.READ),
    Operation("installation.change", _("Resume a restored installation"), Audience.ADMINS, Scope.ADMIN),
)
