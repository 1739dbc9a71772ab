"""The cells of the matrix: who calls what, and what the table of operations says of it."""

from dataclasses import dataclass
from typing import Any

from core.accounts import operations
from core.accounts.models import Role, Scope
from core.accounts.operations import Audience, Operation
from core.accounts.routes import Route, all_routes

FOR_MACHINES = ("api/", "v2/", "metrics")
FOR_BROWSERS_TOO = ("api/docs/",)
NAMED_BY_QUERY = ("schedules/new/",)  # the record that it is about stands behind the question mark
UNREACHABLE = (502, 503)  # a server, or a worker that would apply
PERSONS = ("anonymous", "other team", *(role.value for role in Role), "admin")
TOKENS = tuple(f"token {scope}" for scope in Scope)  # each of an administrator
REVEALS = "reveal"


@dataclass(frozen=True)
class Cell:
    """A method of an address, its caller, and the operations that it is."""

    route: Route
    caller: str
    operations: tuple[Operation, ...]
    query: str = ""

    @property
    def expected(self) -> str:
        """What the table says: `allowed`, `login`, or the status of the refusal."""
        if all(one.role is Audience.ANYONE for one in self.operations):
            return "allowed"
        if self.caller == "anonymous":
            return "401" if is_for_machines(self.route) and self.route.path not in FOR_BROWSERS_TOO else "login"
        if self.caller == "admin":
            return "allowed"
        if self.caller in TOKENS:
            scope = self.caller.split()[1]
            return "allowed" if all(scope in (one.scope, Scope.ADMIN) for one in self.operations) else "403"
        return self._expected_of_role()

    def _expected_of_role(self) -> str:
        """What somebody meets who is in a team: first whether they may do it at all, then whether on this record."""
        roles = [one.role for one in self.operations]
        if Audience.ADMINS in roles:
            return "403"
        if is_ones_own(self.route):
            return "404"
        needed = [Role(str(role)) for role in roles if isinstance(role, Role)]
        if self.caller == "other team":  # whose owner it is
            return "404" if needed and self.has_record else "allowed"
        if not self.has_record:
            needed = [Role(str(one.role_on(None))) for one in self.operations if isinstance(one.role, Role)]
        if not all(Role(self.caller).includes(role) for role in needed):
            return "403"
        return "404" if self.route.path.startswith("api/v1/tokens/<") else "allowed"  # it is the administrator's own

    @property
    def has_record(self) -> bool:
        return "<" in self.route.path or self.route.path in NAMED_BY_QUERY

    def is_off(self, answer: Any) -> bool:
        """Test whether the answer is another than what the table says."""
        status, expected = answer.status_code, self.expected
        leads_to_login = status == 302 and answer.headers["Location"].startswith("/login/?next=")
        if expected == "login":
            return not leads_to_login
        if status == 405:  # a page that only shows, or only acts: nobody does anything by this method
            return is_for_machines(self.route)
        if expected == "allowed":
            return status in (401, 403, 404) or (status >= 500 and status not in UNREACHABLE) or leads_to_login
        return str(status) != expected and not (expected == "404" and is_told_that_it_is_gone(answer))

    def __str__(self) -> str:
        return f"{self.route.method.upper()} /{self.route.path}{self.query} as {self.caller}: {self.expected}"


def is_told_that_it_is_gone(answer: Any) -> bool:
    """Test whether a part that a page asks for again leads to the list, as it does once its record is removed."""
    return bool(answer.headers.get("HX-Redirect", "").endswith(("/pools/", "/entries/"))) and not answer.content


def is_for_machines(route: Route) -> bool:
    """Test whether the address answers tokens, and strangers with a status."""
    return route.path.startswith(FOR_MACHINES)


def is_ones_own(route: Route) -> bool:
    """Test whether the address leads to something of one person, here of the administrator."""
    return route.path.startswith(("tokens/<", "account/sessions/<"))


def noun_of(route: Route) -> str:
    """The first word of the address below its API."""
    return route.path.removeprefix("api/v1/").split("/")[0]


def cells_of(route: Route) -> list[Cell]:
    """Each caller of a route, without and with `reveal=1`, those who are refused first."""
    assert route.operation, f"{route.path} names no operation for {route.method}: see core.accounts.operations"
    callers = PERSONS + TOKENS if is_for_machines(route) else PERSONS
    cells = [Cell(route, caller, (route.operation,)) for caller in callers]
    if also := revealing(route):
        cells += [Cell(route, caller, (route.operation, also), "?reveal=1") for caller in callers]
    return sorted(cells, key=lambda cell: cell.expected == "allowed")


def is_stream(route: Route) -> bool:
    """Test whether the method answers a stream of events."""
    return route.path.startswith("api/v1/") and route.path.endswith(("/<uuid:pk>/live/", "/<uuid:pk>/events/"))


def revealing(route: Route) -> Operation | None:
    """The operation that `reveal=1` takes besides; None where the address has none of its own."""
    declared = getattr(getattr(route.view, "cls", None), "operations", {})
    return operations.named(declared[REVEALS]) if route.method == "get" and REVEALS in declared else None


ROUTES = list(dict.fromkeys(all_routes()))
