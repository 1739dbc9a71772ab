"""Contention judged per block: what hits the arms of a block alike does not spoil their ratio; pure.

A block is one run of each arm, one after the other. A run that others' work alone makes suspect counts where the arms
of its block saw alike; where they did not, the block is spoiled, and is measured again. That keeps or drops pairs by
what others took, never by what the arms did, so that neither arm is favored (`tests/bench/evidence`, "contention").
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from benchmarks.analysis.conclusions import Outcome
from benchmarks.analysis.subjects import Subject

# Points of the host's processors. A load that needs them all loses about as large a share of its throughput: pairs
# within 15 points vary by some 15 % more than on a quiet machine, which the interval shows. Where others took 60 % of
# a machine, 10 points left three of six blocks.
ALIKE_POINTS = 15.0
LOADED = (Outcome.SUCCEEDED, Outcome.SUSPECT)


def judged(runs: Sequence[Subject]) -> list[Subject]:
    """Return the runs, those of them as succeeded that only contention makes suspect, in blocks that saw alike."""
    alike = {name for name, block in _blocks(runs).items() if is_alike(block)}
    return [replace(run, outcome=Outcome.SUCCEEDED) if _counts(run, alike) else run for run in runs]


def contended(runs: Sequence[Subject]) -> list[str]:
    """Return the blocks, by their groups, that lost a run to contention."""
    return [name for name, block in _blocks(runs).items() if _is_contended(block) and not is_alike(block)]


def is_alike(block: Iterable[Subject]) -> bool:
    """Test whether others took shares of the host that lie close together.

    Runs that were refused or broke off are left out: they had no load, or one of another time.
    """
    known = [run.contention for run in block if run.outcome in LOADED and run.contention is not None]
    return not known or max(known) - min(known) <= ALIKE_POINTS


def _counts(run: Subject, alike: set[str]) -> bool:
    return run.is_only_contended and run.group in alike


def _is_contended(block: Iterable[Subject]) -> bool:
    return any(run.is_only_contended for run in block)


def _blocks(runs: Sequence[Subject]) -> Mapping[str, list[Subject]]:
    ordered = sorted(runs, key=lambda run: run.group)
    return {name: list(block) for name, block in groupby(ordered, key=lambda run: run.group) if name}
