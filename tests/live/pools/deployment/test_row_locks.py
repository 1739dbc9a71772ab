"""Writers of many pools at once, on PostgreSQL, which locks rows: `row_locks` has what is tried there."""

from pathlib import Path

import pytest

from tests.live import on_postgresql


@pytest.mark.slow
def test_writers_of_many_pools_at_once_on_postgresql(tmp_path: Path) -> None:
    on_postgresql.assert_passes(tmp_path / "metadata", Path(__file__).with_name("row_locks.py"))
