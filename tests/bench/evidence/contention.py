"""Others' work beside the runs, judged per block as `benchmarks.analysis.blocks` does: pairs that it keeps."""

import random
from collections.abc import Callable
from math import exp

from benchmarks.analysis import blocks
from benchmarks.analysis.conclusions import Outcome
from benchmarks.analysis.subjects import Subject
from tests.bench.evidence import noise
from tests.bench.evidence.noise import Noise, Pairs

ALLOWED, JITTER = 25.0, 3.0  # percent of the host: the panel's default, and how far what is read of it varies
Percent = float
# processor shares that others take during the two runs of a block
Host = Callable[[random.Random], tuple[Percent, Percent]]
MOST_TRIES = 20  # attempts for one block


def steady(draw: random.Random) -> tuple[Percent, Percent]:
    """Half a core of two, all the time."""
    return tuple(max(0.0, draw.gauss(27, JITTER)) for _ in range(2))  # type: ignore[return-value]


def in_bursts(draw: random.Random) -> tuple[Percent, Percent]:
    """A compiler that begins and ends at any moment, and leaves the host alone half of the time."""
    return tuple(draw.choice((0.0, draw.uniform(20, 60))) for _ in range(2))  # type: ignore[return-value]


def in_waves(draw: random.Random) -> tuple[Percent, Percent]:
    """Neighbors whose load changes between blocks more than within them."""
    middle = draw.uniform(0, 60)
    return tuple(min(90.0, max(0.0, draw.gauss(middle, 8))) for _ in range(2))  # type: ignore[return-value]


HOSTS: dict[str, Host] = {
    "steady at half a core of two": steady,
    "in bursts": in_bursts,
    "in waves": in_waves,
}


def kept_pairs(host: Host) -> Callable[[random.Random, int, float], Pairs]:
    """Return how to draw so many pairs of blocks that count; one that others spoiled is repeated."""

    def pairs(draw: random.Random, count: int, effect: float) -> Pairs:
        found: Pairs = []
        for _ in range(count * MOST_TRIES):
            block = _block(draw, host(draw), effect)
            one, other = blocks.judged(block)
            if one.counts and other.counts:
                found.append((one.summary["tps"], other.summary["tps"]))
            if len(found) == count:
                break
        return found

    return pairs


def _block(draw: random.Random, taken: tuple[Percent, Percent], effect: float) -> list[Subject]:
    """Return a run of each arm: a busy host's throughput is less by the share that others take."""
    return [
        _run(at, exp(noise.normal(draw)) * factor * (1 - share / 100), max(0.0, share))
        for at, (share, factor) in enumerate(zip(taken, (1.0, effect), strict=True))
    ]


def _run(number: int, tps: float, taken: Percent) -> Subject:
    is_suspect = taken > ALLOWED
    return Subject(
        id=str(number),
        number=number,
        endpoint_kind="direct",
        target="here",
        engine="pgbench",
        options={},
        summary={"tps": tps},
        outcome=Outcome.SUSPECT if is_suspect else Outcome.SUCCEEDED,
        group="block",
        contention=taken,
        is_only_contended=is_suspect,
    )


NOISES = tuple(Noise(f"contention {name}", kept_pairs(host)) for name, host in HOSTS.items())
