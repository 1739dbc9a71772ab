"""The table of operations: who may do what."""

from core.accounts.models import Role
from core.accounts.operations import Audience, Operation, registered
from reference.tables import code, plain, table

AUDIENCES = {Audience.ANYONE: "nobody needs a login", Audience.USERS: "everybody", Audience.ADMINS: "administrators"}


def operations() -> str:
    """Return a table of all operations, by name."""
    head = ("Operation", "What it does", "Role", "Scope of a token", "Eased")
    return table(head, (_row(operation) for operation in registered()))


def _row(operation: Operation) -> tuple[str, ...]:
    role = operation.role.label if isinstance(operation.role, Role) else AUDIENCES[operation.role]
    return code(operation.name), plain(operation.text), str(role), code(operation.scope.value), _easing(operation)


def _easing(operation: Operation) -> str:
    if not operation.eased_role:
        return ""
    return f"{operation.eased_role.label} where {code(operation.eased_by)} is set"
