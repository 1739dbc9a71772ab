"""Generators as they would have been seen, without Redis, and an engine that is missing."""

from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.utils import timezone

from benchmarks import engines
from benchmarks.engines.base import Engine, Field
from benchmarks.engines.binaries import Program, ProgramMissing
from benchmarks.generators import heartbeats
from benchmarks.generators.heartbeats import Heartbeat
from benchmarks.models import Generator, Purpose
from benchmarks.runs.submission import in_flight
from benchmarks.runs.submission.in_flight import Reservation

Seen = Callable[..., Generator]
Files = dict[str, dict[str, str]]


class _MessagesInFlight:
    """The reservations of `in_flight`, without Redis; none ends by itself."""

    def __init__(self) -> None:
        self.of_runs: dict[object, list[str]] = {}

    def replace(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("generators", "reserve", "end"):
            monkeypatch.setattr(in_flight, name, getattr(self, name))

    def generators(self, names: Iterable[str]) -> set[str]:
        return set(names) & self._kept()

    def reserve(self, run_id: object, generators: Collection[str]) -> Reservation:
        if run_id in self.of_runs:
            return Reservation.RUN_IN_FLIGHT
        if self._kept() & set(generators):
            return Reservation.GENERATOR_AWAITS_ANOTHER
        self.of_runs[run_id] = list(generators)
        return Reservation.MADE

    def end(self, run_id: object) -> None:
        self.of_runs.pop(run_id, None)

    def _kept(self) -> set[str]:
        return {name for kept in self.of_runs.values() for name in kept}


@pytest.fixture
def seen(db: None, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Lets a generator be heard so many seconds ago, with these engines (None: it told of none) and files."""
    beats: list[Heartbeat] = []
    monkeypatch.setattr(heartbeats, "seen", lambda: list(beats))
    monkeypatch.setattr(heartbeats, "forget", lambda name: None)
    _MessagesInFlight().replace(monkeypatch)

    def be_seen(
        name: str, *, ago_s: float = 0.0, engines: dict[str, str] | None = None, files: Files | None = None
    ) -> Generator | None:
        at = timezone.now() - timedelta(seconds=ago_s)
        beats.append(Heartbeat(name, at))
        if engines is None:
            return None
        described = {"engines": engines, "files": files, "last_seen_at": at}
        return Generator.objects.create(name=name, host=f"{name}.example", cores=8, **described)

    return be_seen


USUAL: type[Engine[Any]] = type(engines.ENGINES[engines.DEFAULT_ENGINE])


class Warp(USUAL):  # type: ignore[misc, valid-type]
    """The usual engine, but its program is missing here; `asked` counts how often it was sought."""

    name = "warp"

    def __init__(self) -> None:
        self.asked = 0

    def find(self) -> Program:
        self.asked += 1
        raise ProgramMissing("no warp here: install it")

    def fields_for(self, purpose: str) -> tuple[Field, ...]:
        return super().fields_for(purpose) if purpose == Purpose.LOAD else ()


@pytest.fixture
def warp(monkeypatch: pytest.MonkeyPatch) -> Warp:
    """That engine, registered."""
    warp = Warp()
    import_module("benchmarks.api.asked_runs")  # whose choices are the engines of its first import
    monkeypatch.setitem(engines.ENGINES, "warp", warp)
    monkeypatch.setattr(engines, "_answers", {})  # nothing is remembered from other tests
    return warp
