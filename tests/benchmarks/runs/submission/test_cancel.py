"""Who hears that a run was cancelled, without Redis; with it: tests/live/benchmarks/test_stopping.py."""

import pytest

from benchmarks.models import Run, Status
from benchmarks.runs.live import publisher
from benchmarks.runs.submission import cancel

pytestmark = pytest.mark.django_db


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The states in the ends that watchers were told."""
    ends: list[str] = []
    monkeypatch.setattr(publisher, "publish", lambda run_id, name, id_, payload: ends.append(payload["status"]) or True)
    return ends


def test_the_end_of_a_queued_run_is_told_once(described: list[str]) -> None:
    run = Run.objects.enqueue()
    seen_queued = Run.objects.get(pk=run.pk)
    cancel.cancel(run)
    cancel.cancel(run)
    cancel.cancel(seen_queued)
    assert (run.status, seen_queued.status, described) == (Status.CANCELLED, Status.CANCELLED, ["cancelled"])


def test_the_end_of_an_active_run_is_its_workers_to_tell(described: list[str]) -> None:
    claimed = Run.objects.claim(str(Run.objects.enqueue().pk), "local")
    assert claimed is not None
    cancel.cancel(claimed)
    assert (claimed.status, described) == (Status.STARTING, [])
    assert claimed.cancel_requested_at is not None
