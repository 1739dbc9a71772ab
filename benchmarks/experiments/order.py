"""In which order the runs of the arms follow each other; pure."""

import random
from collections.abc import Sequence


def blocks(arms: Sequence[str], repeats: int, seed: int) -> list[list[str]]:
    """Return a list of arm keys for each block, every arm once in each.

    The order of every second block is that of the block before it turned round (ABBA), so that what drifts with time
    falls on all arms alike; which order a pair of blocks begins with is drawn by the seed.
    """
    draw = random.Random(seed)  # noqa: S311 (an order, no secret)
    found: list[list[str]] = []
    for at in range(repeats):
        found.append(found[-1][::-1] if at % 2 else draw.sample(list(arms), len(arms)))
    return found
