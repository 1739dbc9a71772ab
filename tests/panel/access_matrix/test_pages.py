"""Each method of each page, as each caller."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.panel.access_matrix.cells import ROUTES, Cell, cells_of, is_for_machines, noun_of

PAGES = [route for route in ROUTES if not is_for_machines(route)]


@pytest.mark.parametrize("noun", sorted({noun_of(route) for route in PAGES}))
def test_pages_are_for_whom_the_table_says(noun: str, ask: Callable[[Cell], Any]) -> None:
    cells = [cell for route in PAGES if noun_of(route) == noun for cell in cells_of(route)]
    answers = [(cell, ask(cell)) for cell in cells]
    off = [f"{cell}, and it is {answer.status_code}" for cell, answer in answers if cell.is_off(answer)]
    assert not off, "\n".join(off)
