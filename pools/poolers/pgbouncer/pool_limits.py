"""Limits that contradict each other: PgBouncer opens and closes connections without end, and only logs it.

Reported as issue 647 of PgBouncer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from pools.models import Pool, Pooler

SMALLEST, OF_USER = "min_pool_size", "max_user_connections"


def problems(spec: Pool) -> Iterator[str]:
    """Yield why a pool can't keep its smallest size: it is above the size, or above its user's limit."""
    smallest = _number(spec.settings.get(SMALLEST))
    if smallest and isinstance(spec.size, int) and smallest > spec.size:
        text = _("min_pool_size %(smallest)s is above the pool's size %(size)s: lower it, or raise the size")
        yield text % {"smallest": smallest, "size": spec.size}
    if (limit := _number(_limits_of(spec).get(OF_USER))) and smallest > limit:
        text = _(
            "min_pool_size %(smallest)s is above max_user_connections %(limit)s of %(user)s: lower it, or raise the "
            "user's limit"
        )
        yield text % {"smallest": smallest, "limit": limit, "user": spec.user}


def user_problems(pooler: Pooler, user: str, limits: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, message) for each pool of the user whose smallest size is above its limit."""
    limit = _number(limits.get(OF_USER))
    for pool in pooler.pools.wanted().filter(user=user).order_by("name") if limit else ():
        smallest = _number(pool.settings.get(SMALLEST))
        if smallest > limit:
            text = _(
                "max_user_connections %(limit)s is below min_pool_size %(smallest)s of pool %(pool)s: raise it, or "
                "lower the pool's"
            )
            yield OF_USER, text % {"limit": limit, "smallest": smallest, "pool": pool.name}


def _limits_of(spec: Pool) -> Mapping[str, Any]:
    found: Mapping[str, Any] = spec.pooler.user_settings.get(spec.user, {}) if spec.user else {}
    return found


def _number(value: object) -> int:
    """Return a setting's number; 0, which is no limit, where it is none."""
    return int(str(value)) if str(value).isdecimal() else 0
