"""Error rates and coverage of the verdicts, by simulation.

    .venv/bin/python -m tests.bench.evidence [--trials 2000] [--seed 17] [--only coverage …]

Prints tables: how often comparisons of identical arms (A/A) say "no difference shown", with a fixed number of pairs,
with several arms and with a look after every block; how often a true effect is found; how often the 95 % interval
contains the truth under normal, heavy-tailed, skewed, one-sided, drifting and autocorrelated noise, beside bootstrap
intervals; how far the interval of a single run's mean can be relied on; and how often the advisor recommends a pool
size that gives 90 % of the best throughput; how soon a change of nightly figures is found with recorded noise. ± is the
simulation's own standard error.
"""

import argparse

from tests.bench.evidence import advisor, coverage, error_rates, nights, table

BOOTSTRAP_SHARE = 5  # each bootstrap interval takes some hundred times as long: a fifth of the trials
NIGHTS, NIGHTS_SHARE = "nights", 20  # a year of nights takes some seconds
TABLES = {
    "aa": ("Identical arms, fixed number of pairs", error_rates.identical_arms),
    "arms": ("Several identical arms", error_rates.several_arms),
    "sequential": ("Identical arms, a look after every block", error_rates.sequential),
    "power": ("A true effect", error_rates.power),
    "coverage": ("Coverage of the 95 % interval", coverage.student),
    "bootstrap": ("Coverage of bootstrap intervals", coverage.bootstraps),
    "advisor": ("The recommended pool size gives 90 % of the best throughput", advisor.recommended_sizes),
    "within": ("Coverage of the interval of one run's mean", coverage.within_runs),
}


def main() -> None:
    """Print the chosen tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--only", nargs="+", choices=[*TABLES, NIGHTS], default=[*TABLES, NIGHTS])
    asked = parser.parse_args()
    for name in asked.only:
        if name == NIGHTS:
            nights.show(max(asked.trials // NIGHTS_SHARE, 1), asked.seed)
            continue
        title, simulate = TABLES[name]
        trials = asked.trials // BOOTSTRAP_SHARE if name == "bootstrap" else asked.trials
        table.show(title, simulate(max(trials, 1), asked.seed))
        if name == "power":
            needed = error_rates.blocks_needed(asked.trials, asked.seed)
            print(f"  the sequential mode shows it after {needed} blocks (median)")


if __name__ == "__main__":
    main()
