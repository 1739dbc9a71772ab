"""The client as a folder, and the gate of `run --pair`; with a panel: tests/live/benchmarks/test_command_line.py."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from panel.command_line.gates import Gate, ratio_faults

ROOT = Path(__file__).resolve().parents[2]


def comparison(ratio, interval):
    arms = [{"ratio": None, "interval": None, "verdict": None}]
    return {"arms": [*arms, {"ratio": ratio, "interval": interval, "verdict": "no difference shown"}]}


@pytest.mark.parametrize(
    ("bound", "interval", "fault"),
    [
        ("at_least", [1.35, 1.8], ""),
        ("at_least", [0.8, 2.8], "it is 0.8, the lower end of the 95 % interval of 1.5"),
        ("at_most", [0.8, 1.2], ""),
        ("at_most", [0.8, 2.8], "it is 2.8, the upper end of the 95 % interval of 1.5"),
        ("at_least", None, "it is 1.5 without an interval: ask for more pairs with --repeat"),
    ],
)
def test_luck_passes_no_gate(bound, interval, fault):
    """A ratio of 1.5 (0.8 to 2.8) passed `--fail-under 1.3`."""
    found = ratio_faults(comparison(1.5, interval), [Gate("ratio", bound, 1.3)], is_point=False)
    assert found == ([f"ratio {bound.replace('_', ' ')} 1.3: {fault}"] if fault else [])


def test_the_ratio_itself_is_judged_where_that_is_asked_for():
    gates = [Gate("ratio", "at_least", 1.3), Gate("tps", "at_least", 1e9)]
    assert ratio_faults(comparison(1.5, [0.8, 2.8]), gates, is_point=True) == []
    assert ratio_faults({"arms": []}, gates, is_point=False) == [
        "ratio at least 1.3: there is no figure, as too few runs are valid"
    ]


@pytest.mark.parametrize("flags", [(), ("-P",)])
def test_a_copy_of_its_folder_works_by_any_name_without_the_panel(tmp_path, flags):
    """A job may copy it; started by a relative path too, beside files that have names of the standard library."""
    shutil.copytree(ROOT / "panel" / "command_line", tmp_path / "client")
    (tmp_path / "json.py").write_text("raise RuntimeError\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    argv = [sys.executable, *flags, "client", "pools"]
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "Error: No login: run `pooldeck login URL`, or set POOLDECK_URL and POOLDECK_TOKEN.\n",
    )
