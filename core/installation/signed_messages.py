"""Signed messages are carried out once and within an hour, whatever somebody who reaches Redis sends again.

What was carried out stands in the metadata database: who replays messages can change what stands in Redis.
"""

import logging
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from core.installation.models import CarriedOut

logger = logging.getLogger(__name__)

LIFETIME = timedelta(hours=1)  # Beat sends a message that waits longer again, under an id of its own.
CLOCKS_DIFFER_BY = timedelta(minutes=10)


def give_expiry(body: dict[str, object]) -> None:
    """Let a message of Celery's first protocol, before it is signed, expire within its lifetime."""
    latest = datetime.now(UTC) + LIFETIME
    expiry = body.get("expires")
    if not expiry or datetime.fromisoformat(str(expiry)) > latest:
        body["expires"] = latest.isoformat()


def is_first(message_id: str, expires: object) -> bool:
    """Record that a message is being carried out; return False where it was before, or would never expire."""
    if not expires:
        logger.warning("message %s has no expiry, so it is not carried out", message_id)
        return False
    until = datetime.fromisoformat(str(expires)) + CLOCKS_DIFFER_BY
    CarriedOut.objects.filter(until__lt=timezone.now()).delete()
    try:
        with transaction.atomic():
            CarriedOut.objects.create(message=message_id, until=until)
    except IntegrityError:
        logger.warning("message %s was carried out before: somebody sent it again", message_id)
        return False
    return True
