"""Figures as people read them."""

import re
from pathlib import Path

import pytest

from core.lib.env import BASE_DIR
from core.lib.figures import figure, percent_change, signed


@pytest.mark.parametrize(
    ("number", "text"),
    [(12345.6, "12,346"), (812.44, "812.4"), (0.1667, "0.167"), (3, "3"), (-8.714, "−8.71"), (-12345.6, "−12,346")],
)
def test_a_figure_has_three_digits_and_a_true_minus_sign(number: float, text: str) -> None:
    assert figure(number) == text


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (58.44, None, "+58.44"),
        (-18.23, 1, "−18.2"),
        (0, None, "0"),
        (-0.04, 1, "0.0"),
        (0.0004, 3, "0.000"),
        (-1234.5, 0, "−1,234"),
    ],
)
def test_a_change_has_its_sign(number: float, digits: int | None, text: str) -> None:
    assert signed(number, digits) == text


def test_a_ratio_is_a_change_in_percent() -> None:
    assert [percent_change(ratio) for ratio in (1.584, 0.8177, 1.0)] == ["+58.4 %", "−18.2 %", "0.0 %"]


BY_HAND = re.compile(r"\{[^{}]*:\+[,.\d]*[defg]\}|[^\"]−|>= 0 %\}\+")  # a sign that another place formats


def written_by_hand(path: Path) -> bool:
    return bool(BY_HAND.search(path.read_text()))


def test_no_other_place_writes_a_sign() -> None:
    places = [path for room in ("benchmarks", "core", "panel", "pools") for path in (BASE_DIR / room).rglob("*.py")]
    places += (BASE_DIR / "templates").rglob("*.html")
    found = [path.name for path in places if written_by_hand(path)]
    assert found == ["figures.py"]
