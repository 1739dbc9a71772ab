"""Strike every process of an installation with every fault during every activity, and print what went wrong.

    python -m tests.faults [--quick] [--faults kill,term,stop,cut,delay,disk] [--processes web,…] [--activities run,…]
                           [--trials 1] [--trials-of-kill 2] [--json FILE]

All of it takes about an hour. Needs root for full disks. The exit code is 0 where nothing was wrong.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.bench.processes import end_all_on_sigterm
from tests.faults import cells
from tests.faults.cells import Cell
from tests.faults.ground import Ground
from tests.faults.trials import Trial, tried

KINDS = ("orphan", "double", "stuck", "state", "samples", "left")


def words(text: str) -> tuple[str, ...]:
    """Return the words of a list with commas."""
    return tuple(text.split(","))


def command_line() -> argparse.ArgumentParser:
    """Describe the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few cells, in about two minutes")
    parser.add_argument("--faults", type=words, default=cells.FAULTS)
    parser.add_argument("--processes", type=words, default=cells.PROCESSES)
    parser.add_argument("--activities", type=words, default=cells.ACTIVITIES)
    parser.add_argument("--trials", type=int, default=1, help="of each cell")
    parser.add_argument("--trials-of-kill", type=int, default=2, help="of each cell of kill -9")
    parser.add_argument("--json", type=Path, help="writes every trial to this file")
    return parser


def measure(ground: Ground, grid: Sequence[Cell], options: argparse.Namespace) -> list[Trial]:
    """Try all cells round by round, as often as asked for, and print each trial."""
    trials: list[Trial] = []
    wanted = {cell: options.trials_of_kill if cell.fault == "kill" else options.trials for cell in grid}
    for number in range(max(wanted.values(), default=0)):
        for cell in (one for one in grid if wanted[one] > number):
            trial = tried(ground, cell)
            trials.append(trial)
            told = "; ".join(trial.wrong) or "nothing wrong"
            times = f"back after {trial.recovery_s:.1f} s, {trial.seconds:.0f} s in all"
            print(f"{cell}: {trial.outcome}, {times}: {told}", flush=True)
            if options.json:
                options.json.write_text(json.dumps([asdict(one) for one in trials], indent=1) + "\n")
    return trials


def table(trials: list[Trial]) -> str:
    """Return the trials of each fault and process as a table in Markdown."""
    rows = defaultdict(list)
    for trial in trials:
        rows[trial.cell.fault, trial.cell.process].append(trial)
    lines = [f"| fault | process | trials | {' | '.join(KINDS)} | recovery, p95 s |", "|---" * (len(KINDS) + 4) + "|"]
    for (fault, process), found in rows.items():
        counts = " | ".join(str(sum(one.count(kind) for one in found)) for kind in KINDS)
        lines.append(f"| {fault} | {process} | {len(found)} | {counts} | {p95([t.recovery_s for t in found]):.1f} |")
    return "\n".join(lines)


def p95(values: list[float]) -> float:
    """Return the 95th percentile, the largest of few."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def main() -> int:
    """Return 0 where nothing was wrong."""
    options = command_line().parse_args()
    end_all_on_sigterm()
    asked = cells.chosen(options.faults, options.processes, options.activities)
    grid = cells.quick() if options.quick else list(asked)
    needs = {
        "has_disks": any(cell.fault == cells.DISK for cell in grid),
        "has_proxies": any(cell.needs_proxies for cell in grid),
    }
    with tempfile.TemporaryDirectory() as folder, Ground(Path(folder), **needs) as ground:
        trials = measure(ground, grid, options)
    print(f"\n{table(trials)}")
    return 1 if any(trial.wrong for trial in trials) else 0


if __name__ == "__main__":
    sys.exit(main())
