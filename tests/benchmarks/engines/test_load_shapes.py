"""Shapes of a load: stages that the engine takes as they are."""

import pytest

from benchmarks.engines.load_shapes import Shape, stages_of
from benchmarks.engines.pgbench.options import validate
from benchmarks.engines.stage_lines import written


def lines(shape: str, clients: int, duration_s: int) -> list[str]:
    return written(stages_of(shape, clients, duration_s)).splitlines()


def test_each_shape_has_its_stages() -> None:
    assert lines(Shape.CONSTANT, 20, 60) == []
    assert lines(Shape.RAMP, 20, 60) == ["12s 4", "12s 8", "12s 12", "12s 16", "12s 20"]
    assert lines(Shape.SPIKE, 20, 60) == ["24s 5", "12s 20", "24s 5"]
    assert lines(Shape.BURST, 20, 70) == ["10s 5", "10s 20", "10s 5", "10s 20", "10s 5", "10s 20", "10s 5"]
    assert lines(Shape.SOAK, 20, 60) == ["1m 10", "59m 20"]
    assert lines(Shape.SOAK, 20, 7200) == ["2m 10", "118m 20"]


def test_the_time_is_shared_out_to_the_second_and_no_stage_is_empty() -> None:
    assert sum(stage["duration_s"] for stage in stages_of(Shape.BURST, 20, 100)) == 100
    assert lines(Shape.RAMP, 1, 3) == ["1s 1"] * 5


@pytest.mark.parametrize("shape", Shape.values)
def test_what_a_shape_gives_is_valid(shape: str) -> None:
    for clients, duration_s in [(1, 1), (10, 30), (10_000, 86_400)]:
        stages = stages_of(shape, clients, duration_s)
        assert validate({"stages": stages}).get("stages", []) == stages
