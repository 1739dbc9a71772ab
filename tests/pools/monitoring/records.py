"""Minutes and events for tests."""

import time
from typing import Any

from django.utils import timezone

from pools.models import Event, EventKind, Pool, PoolMinute, Severity, SubjectType
from pools.monitoring.rates import FIGURES


def a_minute(pool: Pool, ago: int = 1, snapshots: int = 6, **figures: float | None) -> PoolMinute:
    """So many minutes ago; a figure given stands for its average and its maximum, the others are 0."""
    values = {f"{name}_{what}": figures.get(name, 0.0) for name in FIGURES for what in ("avg", "max")}
    return PoolMinute.objects.create(pool=pool, minute=int(time.time() // 60) - ago, snapshots=snapshots, **values)


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
