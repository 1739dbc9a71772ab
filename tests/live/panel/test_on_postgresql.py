"""What SQLite does in another way than PostgreSQL: plans of searches, locks of rows, texts that can't be compared."""

from pathlib import Path

from tests.benchmarks import test_searching_runs
from tests.core.audit import test_locked_rows
from tests.live import on_postgresql
from tests.panel import test_nul_characters, test_query_plans


def test_these_files_pass_with_the_metadata_in_postgresql(tmp_path: Path) -> None:
    files = (test_query_plans, test_searching_runs, test_locked_rows, test_nul_characters)
    on_postgresql.assert_passes(tmp_path / "metadata", *(Path(str(one.__file__)) for one in files))
