"""What a worker writes down of itself; with a real server: tests/live/benchmarks/runs/distributed/test_naming.py."""

import pytest

from benchmarks.generators import registration
from benchmarks.models import Generator
from tests.pools.api.conftest import make_cluster

pytestmark = pytest.mark.django_db


def test_a_worker_registers_once_and_describes_itself_again(settings):
    settings.GENERATOR = "east"
    first = registration.register()
    again = registration.describe()
    assert Generator.objects.count() == 1
    assert (again.name, again.host, again.cores > 0, "pgbench" in again.engines) == ("east", first.host, True, True)
    again.refresh_from_db()
    assert first.last_seen_at < again.last_seen_at
    assert again.started_at < again.last_seen_at


def test_a_cluster_out_of_reach_has_its_reason_and_a_removed_one_is_dropped(settings):
    make_cluster()  # Nothing listens on port 1.
    found = registration.round_trips({"removed": {"avg_ms": 1.0}})
    (trip,) = found.values()
    assert "refused" in trip["error"]


def test_an_engine_without_its_program_is_left_out(settings):
    settings.PGBENCH = "/nowhere/pgbench"
    assert "pgbench" not in registration.engines_here()


def test_a_missing_program_is_logged_once_and_again_when_it_went_missing_anew(settings, caplog, monkeypatch):
    monkeypatch.setattr(registration, "_missing", {})
    caplog.set_level("INFO", registration.__name__)

    def lines(pgbench: str) -> int:
        caplog.clear()
        settings.PGBENCH = pgbench
        registration.engines_here()
        return sum("no pgbench" in text for text in caplog.messages)

    found = settings.PGBENCH
    asked = ("/nowhere/pgbench", "/nowhere/pgbench", "/elsewhere/pgbench", found, "/elsewhere/pgbench")
    assert [lines(pgbench) for pgbench in asked] == [1, 0, 1, 0, 1]
