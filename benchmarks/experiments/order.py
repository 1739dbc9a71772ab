"""In which order the runs of the arms follow each other; pure."""

import random
import uuid
from collections.abc import Sequence


def blocks(arms: Sequence[str], repeats: int, seed: int) -> list[list[str]]:
    """Return a list of arm keys for each block, every arm once in each.

    The order of every second block is that of the block before it turned round (ABBA), so that what drifts with time
    falls on all arms alike; which order a pair of blocks begins with is drawn by the seed.
    """
    draw = random.Random(seed)  # noqa: S311 (an order, no secret)
    order: list[list[str]] = []
    for at in range(repeats):
        order.append(order[-1][::-1] if at % 2 else draw.sample(list(arms), len(arms)))
    return order


def longer(plan: list[list[str]], arms: Sequence[str], total: int, seed: int) -> list[list[str]]:
    """Return a plan with this number of blocks: those that follow go on with the order of the seed."""
    return [*plan[:total], *blocks(arms, total, seed)[len(plan) :]]


def key_of_run(block: int, arm: str) -> str:
    """Return the key, within its experiment, of an arm's run in a block; blocks are counted from 0."""
    return f"{block}/{arm}"


def run_id(experiment: uuid.UUID, key: str) -> uuid.UUID:
    """Return the id of a run, so that no second delivery of a step starts it twice."""
    return uuid.uuid5(experiment, key)
