"""Health checks of containers: which answer and which exit code each gets; real processes are among the live tests."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from benchmarks.errors import QueueDown
from benchmarks.generators import heartbeats
from benchmarks.generators.heartbeats import Heartbeat
from core.lib.queues import WorkerKind
from panel import health_probe

Seen = Callable[..., None]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Sets the heartbeats that Redis remembers: key → name → seconds ago."""

    def remember(**ages_s: dict[str, float]) -> None:
        now, keys = datetime.now(UTC), {"runs": heartbeats.RUNS, "tasks": heartbeats.TASKS, "beat": heartbeats.BEAT}
        kept = {
            keys[kind]: [Heartbeat(name, now - timedelta(seconds=age_s)) for name, age_s in ages.items()]
            for kind, ages in ages_s.items()
        }
        monkeypatch.setattr(heartbeats, "seen", lambda key: kept.get(key, []))
        monkeypatch.setattr(heartbeats, "stalls_s", lambda: {"other": 99.0})

    return remember


@pytest.mark.parametrize(
    ("takes", "ages_s", "code", "said"),
    [
        (WorkerKind.TASKS, {"tasks": {"here": 1}}, 0, "worker here for tasks sent a heartbeat 1 s ago"),
        (WorkerKind.RUNS, {"runs": {"here": 2}}, 0, "worker here for runs sent a heartbeat 2 s ago"),
        (
            WorkerKind.ALL,
            {"runs": {"here": 1}, "tasks": {"here": 3}},
            0,
            "worker here for runs sent a heartbeat 1 s ago, worker here for tasks sent a heartbeat 3 s ago",
        ),
        (
            WorkerKind.TASKS,
            {"tasks": {"here": 16, "other": 1}},
            1,
            "worker here for tasks sent a heartbeat 16 s ago, and should every 2 s",
        ),
        (WorkerKind.RUNS, {"runs": {"other": 1}}, 1, "worker here for runs has sent no heartbeat yet"),
        (WorkerKind.ALL, {"runs": {"here": 1}}, 1, "worker here for tasks has sent no heartbeat yet"),
    ],
)
def test_a_worker_is_judged_by_its_own_heartbeat_for_what_it_takes(
    takes: WorkerKind,
    ages_s: dict[str, dict[str, float]],
    code: int,
    said: str,
    seen: Seen,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings.GENERATOR, settings.WORKER = "here", takes
    seen(**ages_s)
    found = health_probe.main(["worker"])
    in_whole_seconds = re.sub(r"\.\d s ago", " s ago", capsys.readouterr().out)
    assert (found, in_whole_seconds) == (code, f"{said}\n")


def test_a_worker_that_takes_no_message_is_down_though_its_heart_beats(
    seen: Seen, settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.GENERATOR, settings.WORKER = "here", WorkerKind.TASKS
    seen(tasks={"here": 1})
    monkeypatch.setattr(heartbeats, "stalls_s", lambda: {"here": 31.4})
    assert health_probe.main(["worker"]) == 1
    assert capsys.readouterr().out.endswith(" ago, but has taken no message for 31 s, though some wait\n")


@pytest.mark.parametrize(("age_s", "code"), [(1, 0), (10, 0), (16, 1)])
def test_beat_is_down_after_fifteen_seconds_of_silence(
    age_s: int, code: int, seen: Seen, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.GENERATOR = "here"
    seen(beat={"here": age_s})
    assert health_probe.main(["beat"]) == code
    assert capsys.readouterr().out.startswith(f"beat sent a heartbeat {age_s}.")


@pytest.mark.parametrize(("words", "code"), [(["worker"], 1), (["beat"], 1), (["worker", "--ignore-redis"], 0)])
def test_without_redis_only_a_probe_that_restarts_nothing_fails(
    words: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_key: str) -> list[Heartbeat]:
        raise QueueDown("no answer")

    monkeypatch.setattr(heartbeats, "seen", refuse)
    assert health_probe.main(words) == code
    assert capsys.readouterr().out == "redis does not answer, so nothing is known of heartbeats\n"


def test_a_web_process_that_answers_nothing_is_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert health_probe.main(["web", "--address", "http://127.0.0.1:1/healthz/live"]) == 1
    assert "http://127.0.0.1:1/healthz/live does not answer" in capsys.readouterr().out
