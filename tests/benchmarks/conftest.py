"""Generators as they would have been seen, without Redis."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.generators import heartbeats
from benchmarks.generators.heartbeats import Heartbeat
from benchmarks.models import Generator

Seen = Callable[..., Generator]


@pytest.fixture
def seen(db: None, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Lets a generator be heard so many seconds ago, with these engines (None: it has not described itself)."""
    beats: list[Heartbeat] = []
    monkeypatch.setattr(heartbeats, "seen", lambda: list(beats))
    monkeypatch.setattr(heartbeats, "forget", lambda name: None)

    def be_seen(name: str, *, ago_s: float = 0.0, engines: dict[str, str] | None = None) -> Generator | None:
        at = timezone.now() - timedelta(seconds=ago_s)
        beats.append(Heartbeat(name, at))
        if engines is None:
            return None
        return Generator.objects.create(name=name, host=f"{name}.example", cores=8, engines=engines, last_seen_at=at)

    return be_seen
