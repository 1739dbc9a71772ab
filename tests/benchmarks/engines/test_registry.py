"""The registry of engines."""

import pytest

from benchmarks import engines
from benchmarks.errors import BenchmarksError
from benchmarks.models import Engine


def test_every_engine_of_the_model_is_registered() -> None:
    assert set(engines.ENGINES) == set(Engine.values)


@pytest.mark.parametrize("name", Engine.values)
def test_an_engine_has_all_that_a_run_needs(name: str) -> None:
    needed = ["FIELDS", "fields_for", "validate", "find", "build_command", "preview", "LineReader", "read_line"]
    assert [part for part in [*needed, "read_output"] if not hasattr(engines.engine(name), part)] == []


def test_an_unknown_engine_is_refused_by_name() -> None:
    with pytest.raises(BenchmarksError, match="'warp' is not an engine here; use pgbench"):
        engines.engine("warp")
