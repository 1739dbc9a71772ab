"""Generators as they would have been seen, without Redis, and an engine that is missing."""

from collections.abc import Callable
from datetime import timedelta
from types import ModuleType

import pytest
from django.utils import timezone

from benchmarks.engines import ENGINES, availability, pgbench
from benchmarks.engines.binaries import Program, ProgramMissing
from benchmarks.generators import heartbeats
from benchmarks.generators.heartbeats import Heartbeat
from benchmarks.models import Generator

Seen = Callable[..., Generator]
Files = dict[str, dict[str, str]]


@pytest.fixture
def seen(db: None, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Lets a generator be heard so many seconds ago, with these engines (None: it told of none) and files."""
    beats: list[Heartbeat] = []
    monkeypatch.setattr(heartbeats, "seen", lambda: list(beats))
    monkeypatch.setattr(heartbeats, "forget", lambda name: None)

    def be_seen(
        name: str, *, ago_s: float = 0.0, engines: dict[str, str] | None = None, files: Files | None = None
    ) -> Generator | None:
        at = timezone.now() - timedelta(seconds=ago_s)
        beats.append(Heartbeat(name, at))
        if engines is None:
            return None
        told = {"engines": engines, "files": files, "last_seen_at": at}
        return Generator.objects.create(name=name, host=f"{name}.example", cores=8, **told)

    return be_seen


@pytest.fixture
def warp(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An engine whose program is missing here; `asked` counts how often it was sought."""
    warp = ModuleType("warp")
    warp.asked = 0  # type: ignore[attr-defined]

    def find() -> Program:
        warp.asked += 1  # type: ignore[attr-defined]
        raise ProgramMissing("no warp here: install it")

    warp.find = find  # type: ignore[attr-defined]
    warp.fields_for = lambda purpose: pgbench.fields_for(purpose) if purpose == "load" else ()  # type: ignore[attr-defined]
    monkeypatch.setitem(ENGINES, "warp", warp)
    monkeypatch.setattr(availability, "_answers", {})  # nothing is remembered from other tests
    return warp
