"""The table of operations and the addresses know each other, and the matrix finds what is off."""

from typing import Any

import pytest
from django.http import HttpResponse

from core.accounts import operations
from core.accounts.routes import Route
from tests.panel.access_matrix.cells import PERSONS, ROUTES, Cell, cells_of, revealing

WITHOUT_ADDRESS = {"secret.reveal", "host.use"}  # `reveal=1` where nothing can be, and a choice in other forms


def test_each_method_of_each_address_has_an_operation() -> None:
    assert [f"{route.method} /{route.path}" for route in ROUTES if route.operation is None] == []


def test_each_operation_is_a_method_of_some_address() -> None:
    used = {route.operation for route in ROUTES} | {revealing(route) for route in ROUTES}
    assert {one.name for one in operations.registered() if one not in used} == WITHOUT_ADDRESS


def test_each_method_is_asked_by_everybody() -> None:
    cells = [cell for route in ROUTES for cell in cells_of(route)]
    assert len(cells) > 5000
    assert {cell.caller for cell in cells} > set(PERSONS)


def test_a_method_without_an_operation_is_no_cell() -> None:
    with pytest.raises(AssertionError, match="nowhere/ names no operation for post"):
        cells_of(Route("nowhere/", "post", lambda: None, None))


def answer(status: int, **headers: str) -> HttpResponse:
    return HttpResponse(status=status, headers=headers)


@pytest.mark.parametrize(
    ("caller", "expected", "fits", "off"),
    [
        ("anonymous", "login", answer(302, Location="/login/?next=/x/"), [answer(302, Location="/"), answer(403)]),
        ("other team", "404", answer(404), [answer(403), answer(200), answer(302, Location="/")]),
        ("developer", "403", answer(403), [answer(404), answer(200)]),
        ("operator", "allowed", answer(302, Location="/"), [answer(403), answer(404), answer(401), answer(500)]),
        ("admin", "allowed", answer(200), [answer(302, Location="/login/?next=/x/")]),
    ],
)
def test_an_answer_that_is_off_is_found(caller: str, expected: str, fits: Any, off: list[Any]) -> None:
    change = operations.named("pool.change")
    cell = Cell(Route("pools/<uuid:pk>/edit/", "post", lambda: None, change), caller, (change,))
    assert (cell.expected, cell.is_off(fits), [cell.is_off(one) for one in off]) == (expected, False, [True] * len(off))
