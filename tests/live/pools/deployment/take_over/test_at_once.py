"""Take-overs and releases while people edit, on PostgreSQL, which locks rows: `at_once` has what is tried there."""

from pathlib import Path

import pytest

from tests.live import on_postgresql


@pytest.mark.slow
def test_people_and_workers_at_once_on_postgresql(tmp_path: Path) -> None:
    on_postgresql.assert_passes(tmp_path / "metadata", Path(__file__).with_name("at_once.py"))
