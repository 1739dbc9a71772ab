"""Readiness while a real beat runs, hangs and goes on."""

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client

from benchmarks.generators import heartbeats
from core.installation import pausing
from panel.quickstart.servers import RedisServer
from tests.live.panel_programs import TestBeat
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def beat(tmp_path: Path, queue: RedisServer) -> Iterator[TestBeat]:
    with TestBeat(tmp_path, queue.url) as program:
        yield program
        program.kill(signal.SIGCONT)


def found() -> str:
    answer = Client().get("/healthz/ready").json()
    return str(answer["parts"]["beat"])


def test_readiness_names_a_beat_that_hangs(beat: TestBeat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "ALIVE_WITHIN", timedelta(seconds=5))
    until(lambda: found() == "ok", 60)
    assert not pausing.is_paused()
    beat.kill(signal.SIGSTOP)
    until(lambda: found().startswith("beat was last heard of"), 30)
    assert "beat" in Client().get("/healthz/ready").json()["down"]
    beat.kill(signal.SIGCONT)
    until(lambda: found() == "ok", 30)
