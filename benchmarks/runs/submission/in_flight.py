"""Messages in flight: which run was sent to which generators, and was not taken yet.

Dispatchers of several processes see the same idle generators and the same due runs. Each reserves both before it sends
the run's message, so that a run is sent once and an idle generator is sent one run. The reservations lie in Redis, as
the messages do, and end by themselves: a message that was lost is sent again by a later dispatch.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from enum import IntEnum
from typing import Any

from benchmarks.errors import QueueDown
from benchmarks.generators.heartbeats import asking_redis

TAKEN_WITHIN_S = 10.0  # a message that nobody took by then counts as lost
REFUSED_FOR_S = 2.0  # a run that could not be claimed is sent again later than that, lest it comes back for ever
RUN, GENERATOR = "pooldeck:in-flight:run:", "pooldeck:in-flight:generator:"
_RESERVE = """
for place, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then return math.min(place, 2) end
end
for _, key in ipairs(KEYS) do redis.call('SET', key, ARGV[1], 'PX', ARGV[2]) end
return 0
"""


class Reservation(IntEnum):
    """Whether a message may be sent, or what another message keeps from it."""

    MADE = 0
    RUN_IN_FLIGHT = 1
    GENERATOR_AWAITS_ANOTHER = 2


def generators(names: Iterable[str]) -> set[str]:
    """Return those of these generators that a message is on its way to; raise `QueueDown`."""
    listed = list(names)
    if not listed:
        return set()
    with asking_redis() as client:
        found: Any = client.mget([GENERATOR + name for name in listed])  # typed for every protocol
    return {name for name, sent in zip(listed, found, strict=True) if sent is not None}


def reserve(run_id: object, generators: Collection[str]) -> Reservation:
    """Reserve the run and these generators for one message: all of them, or none. Raises `QueueDown`."""
    keys = [f"{RUN}{run_id}", *(GENERATOR + name for name in generators)]
    words = [" ".join(generators), str(round(1000 * TAKEN_WITHIN_S))]
    with asking_redis() as client:
        answer: Any = client.eval(_RESERVE, len(keys), *keys, *words)  # typed for every protocol
    return Reservation(answer)


def end(run_id: object) -> None:
    """Free the generators of a message that was taken or could not be sent; without Redis they get free by themselves.

    The run stays reserved for a moment; one that was claimed is not due any more.
    """
    key = f"{RUN}{run_id}"
    with suppress(QueueDown), asking_redis() as client:
        names = str(client.get(key) or "").split()
        with client.pipeline(transaction=False) as commands:
            commands.pexpire(key, round(1000 * REFUSED_FOR_S))
            if names:
                commands.delete(*(GENERATOR + name for name in names))
            commands.execute()
