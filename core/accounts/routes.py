"""Which operation each method of each address is, for the tests and the documentation of the table."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from core.accounts import operations, reasons
from core.accounts.operations import Operation


@dataclass(frozen=True)
class Route:
    """A method of an address: `path` as the URLconf has it, such as `pools/<uuid:pk>/edit/`, and its view."""

    path: str
    method: str  # lower case; `get` stands for `head` too
    view: Callable[..., Any]
    operation: Operation | None  # None: the view names none
    is_destructive: bool = False  # it takes a reason, or may take one; see `core.accounts.reasons`


def all_routes(resolver: URLResolver | None = None, prefix: str = "") -> Iterator[Route]:
    """Yield each method of each address of the URLconf, or of the part of it that is given."""
    for entry in (resolver or get_resolver()).url_patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from all_routes(entry, path)
        else:
            yield from _routes_of(entry, path)


def _routes_of(entry: URLPattern, path: str) -> Iterator[Route]:
    for method, name in operations_of(entry.callback).items():
        operation = operations.named(name) if name else None
        yield Route(path, method, entry.callback, operation, _is_destructive(entry.callback, method))


def _is_destructive(view: Callable[..., Any], method: str) -> bool:
    api_class = getattr(view, "cls", None)
    if api_class is None:
        return method == "post" and bool(getattr(view, "destroys", ""))
    actions: dict[str, str] = getattr(view, "actions", None) or {}
    return reasons.destroys(api_class, actions.get(method, method), method)


def operations_of(view: Callable[..., Any]) -> dict[str, str]:
    """Return the name of the operation by method; empty where the view names none for it.

    A view of the REST framework names them by action, or by method where it has no actions.
    """
    declared: dict[str, str] = getattr(view, "operations", {})
    api_class = getattr(view, "cls", None)
    if declared or api_class is None:
        return declared or {"get": "", "post": ""}
    declared = getattr(api_class, "operations", {})
    actions: dict[str, str] = getattr(view, "actions", None) or {
        method: method for method in api_class.http_method_names if hasattr(api_class, method) and method != "options"
    }
    return {method: declared.get(action, "") for method, action in actions.items() if method != "head"}
