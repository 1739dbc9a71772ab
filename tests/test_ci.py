"""Continuous integration: its clone has the history that tests take older states from."""

import os
from pathlib import Path

import pytest
import yaml

from tests.live.panel.upgrades import older

WORKFLOW = Path(__file__).resolve().parent.parent / ".github" / "workflows" / "ci.yaml"


def test_it_clones_all_of_the_history() -> None:
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    (checkout,) = (step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["with"] == {"fetch-depth": 0}


@pytest.mark.skipif("CI" not in os.environ, reason="elsewhere, the upgrade from an older state is skipped and says why")
def test_its_clone_has_the_older_state_that_is_upgraded() -> None:
    assert older.is_there(older.OLDER), f"this clone has no commit {older.OLDER}: git fetch --unshallow"
