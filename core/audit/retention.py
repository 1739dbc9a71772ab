"""Removes the oldest entries of the trail, and leaves the chain verifiable."""

from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from core.audit import chain
from core.audit.models import Entry
from core.audit.recording import Subject, record
from core.audit.stream import state

MOST_AT_ONCE = 20_000  # others who record something wait for the transaction


class Removal(NamedTuple):
    """The last entry that was removed, and how many were."""

    through: int
    entries: int


def prune() -> Removal | None:
    """Remove the entries that are older than POOLDECK_AUDIT_KEEP_DAYS; None where there are none, or all are kept.

    An entry of its own, in the same transaction, says who removed them and has the number and the hash of the last one,
    which `chain.verify` begins with. The newest entry stays, so that the chain goes on.
    """
    if not settings.AUDIT_KEEP_DAYS:
        return None
    with transaction.atomic():
        chain.lock(connection)
        if (last := _last_to_remove()) is None:
            return None
        old = Entry.objects.filter(number__lte=last.number)
        count, _by_model = old.delete()
        anchor = {"through": last.number, "hash": last.hash, "count": count, "until": last.at}
        record(chain.PRUNE, Subject("audit"), after=anchor)
    return Removal(last.number, count)


def _last_to_remove() -> Entry | None:
    """Return the last of the oldest entries, all of which are too old."""
    since = timezone.now() - timedelta(days=settings.AUDIT_KEEP_DAYS)
    by_number = Entry.objects.order_by("number")
    if (first := by_number.first()) is None:
        return None
    kept = by_number.filter(at__gte=since).first() or by_number.last()
    below = min(kept.number if kept else 0, first.number + MOST_AT_ONCE)
    if (sent := state.least_sent()) is not None:
        below = min(below, sent + 1)  # what a receiver has not taken stays
    return Entry.objects.filter(number=below - 1).first()
