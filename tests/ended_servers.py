"""The data of servers that ended: 50 MB for each PostgreSQL, of which pytest would keep some hundred to the end."""

import shutil
from pathlib import Path

import pytest


def remove_data(config: pytest.Config) -> None:
    """Remove the clusters in this process's temporary folders that no PostgreSQL runs on; its logs lie beside them."""
    base: Path | None = getattr(config, "_tmp_path_factory")._basetemp  # noqa: B009 (pytest has no public name)
    for depth in ("*", "*/*"):
        for cluster in base.glob(f"{depth}/cluster") if base else ():
            if (cluster / "PG_VERSION").exists() and not (cluster / "postmaster.pid").exists():
                shutil.rmtree(cluster, ignore_errors=True)
