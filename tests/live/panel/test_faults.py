"""A few cells of the grid of faults, on a whole installation; `python -m tests.faults` tries all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import cells
from tests.faults.cells import Cell
from tests.faults.ground import Ground
from tests.faults.trials import tried


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder: Path = tmp_path_factory.mktemp("faults")
    with Ground(folder, has_disks=False) as started:
        yield started


@pytest.mark.parametrize("cell", cells.quick(), ids=str)
def test_nothing_is_left_lost_or_done_twice(ground: Ground, cell: Cell) -> None:
    assert tried(ground, cell).wrong == []
