"""Limits the requests of a token by the hour, and reports it in the headers that the provider's clients read."""

import logging
import time
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext as _
from redis.exceptions import RedisError
from rest_framework.exceptions import Throttled

logger = logging.getLogger(__name__)

WINDOW_S = 3600


@dataclass(frozen=True)
class Quota:
    """The requests that a token has left; `resets_at` is in seconds since 1970."""

    limit: int
    remaining: int
    resets_at: int

    @property
    def headers(self) -> dict[str, str]:
        """The headers `ratelimit-limit`, `ratelimit-remaining` and `ratelimit-reset`."""
        return {
            "ratelimit-limit": str(self.limit),
            "ratelimit-remaining": str(max(0, self.remaining)),
            "ratelimit-reset": str(self.resets_at),
        }


def count(caller: str) -> Quota:
    """Count a request of the caller and return what is left: below 0 beyond the limit, full while Redis is down."""
    limit, now = settings.REQUESTS_PER_HOUR, int(time.time())
    resets_at = now - now % WINDOW_S + WINDOW_S
    try:
        used = _used(f"v2-requests:{caller}:{resets_at}")
    except (RedisError, OSError) as error:
        logger.warning("requests to /v2/ are not counted: %s", error)
        used = 0
    return Quota(limit, limit - used, resets_at)


def refuse_over(quota: Quota) -> None:
    """Raise `Throttled` for a caller beyond the limit."""
    if quota.remaining < 0:
        text = _("the token has used its %(limit)s requests of this hour: wait, or raise POOLDECK_REQUESTS_PER_HOUR")
        raise Throttled(quota.resets_at - int(time.time()), text % {"limit": quota.limit})


def _used(key: str) -> int:
    cache.add(key, 0, WINDOW_S)
    try:
        return cache.incr(key)
    except ValueError:  # its window ended between both calls
        return 1
