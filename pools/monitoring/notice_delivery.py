"""How notices of any kind go out: claimed by one worker, noted once they were sent, tried again later if not."""

import logging
import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from pools.models.notices import Delivery
from pools.monitoring import channels
from pools.monitoring.channels import DeliveredInPart, DeliveryFailed
from pools.monitoring.letters import Letter

logger = logging.getLogger(__name__)
Row = TypeVar("Row", bound=Delivery)

LEASE = timedelta(seconds=60)  # longer than a channel may take; another worker takes over after it
FIRST_WAIT_S, LONGEST_WAIT_S = 15, 3600
ATTEMPTS = 20  # attempts over about half a day
FAULTS_SHOWN_FOR = timedelta(days=1)


def unsent(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return those that are still to be sent."""
    return rows.filter(sent_at=None, attempts__lt=ATTEMPTS)


def due(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return those that are to be sent now."""
    return unsent(rows).filter(due_at__lte=timezone.now())


def claim(rows: QuerySet[Row], batch: uuid.UUID) -> int:
    """Make these one message, which no other worker sends for the time of a lease; return how many there were."""
    return rows.update(batch=batch, due_at=timezone.now() + LEASE, attempts=F("attempts") + 1)


def send(rows: QuerySet[Row], channel: str, letters: Iterable[Letter], attempts: int) -> None:
    """Send the message of claimed rows at this attempt, and note that it was sent, or when it is tried again.

    One that some of a channel's recipients have is not tried again, which would repeat it to them at every attempt.
    """
    try:
        for letter in letters:
            channels.send(channel, letter)
    except DeliveredInPart as error:
        rows.update(sent_at=timezone.now(), error=str(error))
        logger.warning("%s sent in part by %s: %s", rows.model._meta.verbose_name_plural, channel, error)
    except DeliveryFailed as error:
        _try_again(rows, channel, attempts, str(error))
    except Exception as error:  # one that can't be sent must not keep others from being sent
        logger.exception("a message to %s failed", channel)
        text = _("the panel failed (%(error)s); the log of the worker has more") % {"error": type(error).__name__}
        _try_again(rows, channel, attempts, text)
    else:
        count = rows.update(sent_at=timezone.now(), error="")
        logger.info("%d %s sent by %s", count, rows.model._meta.verbose_name_plural, channel)


def faults() -> dict[str, str]:
    """Return why the last message of a day did not reach all recipients of its channel, by the channel's code."""
    sent: set[tuple[datetime, str, str]] = set()
    for kind in Delivery.__subclasses__():
        rows = kind._default_manager.filter(sent_at__gte=timezone.now() - FAULTS_SHOWN_FOR)
        found = rows.order_by().values_list("sent_at", "channel", "error").distinct()
        sent |= {(at, channel, error) for at, channel, error in found if at}
    last = {channel: error for _at, channel, error in sorted(sent)}
    return {channel: error for channel, error in last.items() if error}


def _try_again(rows: QuerySet[Row], channel: str, attempts: int, reason: str) -> None:
    rows.update(due_at=timezone.now() + pause_after(attempts), error=reason)
    logger.warning("%s not sent by %s, attempt %d: %s", rows.model._meta.verbose_name_plural, channel, attempts, reason)


def pause_after(attempts: int) -> timedelta:
    """Return how long what was not sent rests after so many attempts."""
    return timedelta(seconds=min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (attempts - 1)))
