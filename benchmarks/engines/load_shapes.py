"""The usual shapes of a load, each as a list of stages made from a number of clients and a duration; pure.

A ramp finds where throughput stops growing, a spike whether the service comes back from one, bursts how a queue empties
between them, and a soak what only shows after an hour.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from benchmarks.models.options import Stage

SHORTEST_SOAK_S = 3600


class Shape(TextChoices):
    """Shapes of a load; constant is a load without stages."""

    CONSTANT = "", _("Constant: as above, without stages")
    RAMP = "ramp", _("Ramp: more clients in five steps")
    SPIKE = "spike", _("Spike: a quarter of the clients, all at once, a quarter again")
    BURST = "burst", _("Burst: a quarter and all of the clients in turn, three times")
    SOAK = "soak", _("Soak: half of the clients for a while, then all for an hour or more")


# The stages of each as (share of the time, share of the clients).
_LOW = (1, 0.25)
_PARTS: Mapping[str, Sequence[tuple[int, float]]] = {
    Shape.RAMP: [(1, 0.2), (1, 0.4), (1, 0.6), (1, 0.8), (1, 1)],
    Shape.SPIKE: [(2, 0.25), (1, 1), (2, 0.25)],
    Shape.BURST: [_LOW, (1, 1), _LOW, (1, 1), _LOW, (1, 1), _LOW],
    Shape.SOAK: [(1, 0.5), (59, 1)],
}


def stages_of(shape: str, clients: int, duration_s: int) -> list[Stage]:
    """Return the stages of a shape with so many clients at most; none for a constant load.

    They last as long as asked for together, but a soak at least an hour, and each stage at least a second.
    """
    parts = _PARTS.get(shape, [])
    whole_s = max(SHORTEST_SOAK_S, duration_s) if shape == Shape.SOAK else duration_s
    upto = list(accumulate((share for share, _part in parts), initial=0))
    ends_s = [whole_s * share // (upto[-1] or 1) for share in upto]
    return [
        {"duration_s": max(1, end_s - begin_s), "clients": max(1, round(clients * part))}
        for (begin_s, end_s), (_share, part) in zip(pairwise(ends_s), parts, strict=True)
    ]
