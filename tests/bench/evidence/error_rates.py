"""How often verdicts are wrong: differences shown between identical arms, and true effects that are not found."""

import random
from math import exp, log

from benchmarks.analysis import confidence_intervals
from benchmarks.analysis.confidence_intervals import Interval, Rule
from tests.bench.evidence import contention, noise
from tests.bench.evidence.noise import Pairs
from tests.bench.evidence.table import Line, share

PLAIN = Rule(tie_band=0.0)
COUNTS = (3, 5, 10, 20)
BLOCKS = 30
NO_DIFFERENCE_GOAL, POWER_GOAL = 0.95, 0.80
EFFECT, PAIRS_OF_GOAL = 1.10, 10
NORMAL = noise.NOISES[0]


def identical_arms(trials: int, seed: int) -> list[Line]:
    """Return how often A/A comparisons say "no difference shown": by the interval alone, and with the tie band."""
    lines = []
    for kind in (*noise.NOISES, *contention.NOISES):
        if kind.bias:
            continue  # these arms are not identical
        for count in COUNTS:
            draw = random.Random(seed)
            found = [_of_pairs(kind.draw(draw, count, 1.0), PLAIN) for _ in range(trials)]
            alone = sum(one.low <= 1 <= one.high for one in found)
            tied = sum(one.is_tie(Rule()) for one in found)
            for name, right in (("interval alone", alone), ("verdict with tie band 3 %", tied)):
                name = f"{kind.name}, {count} pairs, {name}"
                lines.append(_no_difference(name, right, trials, is_reference=kind.is_reference))
    return lines


def several_arms(trials: int, seed: int) -> list[Line]:
    """Return how often none of several identical arms differs from the baseline, with Bonferroni and without."""
    lines = []
    for arms in (3, 5, 8):
        for name, rule in (("Bonferroni", Rule(0.0, arms)), ("uncorrected", PLAIN)):
            draw = random.Random(seed)
            right = sum(_none_differs(draw, arms, 10, rule) for _ in range(trials))
            lines.append(
                _no_difference(
                    f"{arms} arms beside a baseline, 10 blocks, {name}", right, trials, is_reference=rule is PLAIN
                )
            )
    return lines


def sequential(trials: int, seed: int) -> list[Line]:
    """Return how often looking after every block up to `BLOCKS` never shows a difference between identical arms."""
    rules = {
        "always-valid": Rule(0.0, is_sequential=True),
        "fixed rule": PLAIN,
    }
    lines = []
    for kind in (*noise.NOISES, *contention.NOISES):
        if kind.bias:
            continue
        for name, rule in rules.items():
            draw = random.Random(seed)
            right = sum(_first_difference(kind.draw(draw, BLOCKS, 1.0), rule) is None for _ in range(trials))
            reference = kind.is_reference or rule is PLAIN
            name = f"{kind.name}, up to {BLOCKS} blocks, {name}"
            lines.append(_no_difference(name, right, trials, is_reference=reference))
    return lines


def power(trials: int, seed: int) -> list[Line]:
    """Return how often a true 10 % effect is found amid 5 % noise."""
    lines = []
    for count in COUNTS:
        draw = random.Random(seed)
        found = [_of_pairs(NORMAL.draw(draw, count, EFFECT), Rule()) for _ in range(trials)]
        shown = sum(not one.is_tie(Rule()) and one.ratio > 1 for one in found)
        name = f"10 % effect, 5 % noise, {count} pairs"
        lines.append(Line(name, share(shown, trials), trials, POWER_GOAL, is_reference=count < PAIRS_OF_GOAL))
    for blocks in (10, 20, BLOCKS):
        draw, rule = random.Random(seed), Rule(is_sequential=True)
        shown = sum(_first_difference(NORMAL.draw(draw, blocks, EFFECT), rule) is not None for _ in range(trials))
        name = f"10 % effect, 5 % noise, sequential within {blocks} blocks"
        lines.append(Line(name, share(shown, trials), trials, POWER_GOAL, is_reference=blocks == PAIRS_OF_GOAL))
    return lines


def blocks_needed(trials: int, seed: int) -> float:
    """Return the median number of blocks after which the sequential mode shows a 10 % effect amid 5 % noise."""
    draw, rule = random.Random(seed), Rule(is_sequential=True)
    found = sorted(_first_difference(NORMAL.draw(draw, BLOCKS, EFFECT), rule) or BLOCKS + 1 for _ in range(trials))
    return found[len(found) // 2]


def _none_differs(draw: random.Random, arms: int, blocks: int, rule: Rule) -> bool:
    base = [noise.normal(draw) for _ in range(blocks)]
    for _ in range(arms):
        logs = [noise.normal(draw) for _ in range(blocks)]
        pairs = [(exp(one), exp(other)) for one, other in zip(base, logs, strict=True)]
        found = _of_pairs(pairs, rule)
        if not found.low <= 1 <= found.high:
            return False
    return True


def _first_difference(pairs: Pairs, rule: Rule) -> int | None:
    """Return the number of blocks at whose look a difference is first shown; None where none is."""
    for count in range(confidence_intervals.ENOUGH_REPEATS, len(pairs) + 1):
        found = confidence_intervals.of_pairs(pairs[:count], rule)
        outside = found and not found.low <= 1 <= found.high
        if outside and (not rule.tie_band or abs(log(found.ratio)) >= log(1 + rule.tie_band)):
            return count
    return None


def _of_pairs(pairs: Pairs, rule: Rule) -> Interval:
    found = confidence_intervals.of_pairs(pairs, rule)
    assert found
    return found


def _no_difference(name: str, right: int, trials: int, *, is_reference: bool) -> Line:
    return Line(name, share(right, trials), trials, NO_DIFFERENCE_GOAL, is_reference=is_reference)
