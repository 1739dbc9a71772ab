"""Minutes and events for tests."""

import time
from typing import Any

from django.utils import timezone

from pools.models import Event, EventKind, Pool, PoolMinute, Severity, SubjectType
from pools.monitoring.rates import FIGURES

_counted_from: dict[Any, int] = {}  # a pool's present minute at its first one: a test may go on into the next


def a_minute(pool: Pool, ago: int = 1, snapshots: int = 6, **figures: float | None) -> PoolMinute:
    """So many minutes ago; a figure given stands for its average and its maximum, the others are 0."""
    values = {f"{name}_{what}": figures.get(name, 0.0) for name in FIGURES for what in ("avg", "max")}
    now = _counted_from.setdefault(pool.pk, int(time.time() // 60))
    return PoolMinute.objects.create(pool=pool, minute=now - ago, snapshots=snapshots, **values)


def an_event(pool: Pool, **fields: Any) -> Event:
    """Open, of clients that wait."""
    values = {
        "kind": EventKind.WAITING,
        "severity": Severity.WARNING,
        "subject_type": SubjectType.POOL,
        "subject_id": pool.pk,
        "subject_name": pool.name,
        "pooler_id": pool.pooler_id,
        "value": 7,
        "message": "7 clients wait for one of the 10 server connections",
        "crossed_at": timezone.now(),
        "opened_at": timezone.now(),
    }
    return Event.objects.create(**values | fields)
