"""How many cases a test of a property draws."""

import os

DRAWS = os.environ.get("POOLDECK_TEST_DRAWS", "same")  # the other value is "anew"
SAME = 100  # of the same cases each time: many more find nothing that they did not find yesterday


def examples(anew: int) -> int:
    """The cases to draw, where so many are drawn when they are others each time."""
    return anew if DRAWS == "anew" else min(anew, SAME)
