"""Each method of both APIs, as each caller and with a token of each scope."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.panel.access_matrix.cells import ROUTES, Cell, cells_of, is_for_machines, is_stream, noun_of

METHODS = [route for route in ROUTES if is_for_machines(route) and not is_stream(route)]


@pytest.mark.parametrize("noun", sorted({noun_of(route) for route in METHODS}))
def test_the_apis_are_for_whom_the_table_says(noun: str, ask: Callable[[Cell], Any]) -> None:
    cells = [cell for route in METHODS if noun_of(route) == noun for cell in cells_of(route)]
    answers = [(cell, ask(cell)) for cell in cells]
    off = [f"{cell}, and it is {answer.status_code}" for cell, answer in answers if cell.is_off(answer)]
    assert not off, "\n".join(off)
