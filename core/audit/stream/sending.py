"""Sends what is new in the trail to each target, from the entry after the last one that arrived.

The position is saved after a target has taken a portion. A worker that dies in between leaves it where it was: the next
one sends that portion again, once the lease of the dead one is over. Entries are numbered in the order of their
commits, so that none appears below a number that was sent.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from core.audit.models import Entry, StreamPosition, StreamTarget
from core.audit.stream import targets
from core.audit.stream.targets import StreamFailed

logger = logging.getLogger(__name__)

AT_MOST, AT_MOST_BYTES = 200, 1_000_000  # of one portion
LEASE = timedelta(seconds=30)  # longer than a target may take for a portion
ROUND_S = 20.0  # then the next task goes on
FIRST_WAIT_S, LONGEST_WAIT_S = 5, 300


def send_due() -> None:
    """Send what is new to each configured target that is due."""
    for target in targets.configured():
        if position := StreamPosition.claim(target, LEASE):
            _send(target, position)


def _send(target: StreamTarget, position: StreamPosition) -> None:
    ends_at, first = time.monotonic() + ROUND_S, position.sent
    while time.monotonic() < ends_at and (entries := _portion(position)):
        try:
            targets.send(target, entries)
        except StreamFailed as error:
            wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(position.failures, 10))
            position.fail(str(error), timedelta(seconds=wait_s))
            logger.warning("audit entries from %d on were not sent to %s: %s", entries[0].number, target, error)
            return
        if not position.advance(entries[-1].number, LEASE):
            return  # it took longer than the lease: another worker sends
    position.release()
    if position.sent > first:
        logger.info("audit entries up to %d were sent to %s", position.sent, target)


def _portion(position: StreamPosition) -> Sequence[Entry]:
    """Return the next entries in their order: fewer after each failure, so that one that is refused keeps few back."""
    at_most = max(1, AT_MOST >> position.failures)
    return list(_while_small(Entry.objects.filter(number__gt=position.sent).order_by("number")[:at_most]))


def _while_small(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the first entries that a message carries together, one at least."""
    size = 0
    for entry in entries:
        size += len(entry.change)
        if size > AT_MOST_BYTES and size > len(entry.change):
            return
        yield entry
