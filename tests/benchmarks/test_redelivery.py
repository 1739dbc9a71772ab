"""Messages that Redis delivers again after its visibility timeout, to another worker or once the work is done."""

from collections.abc import Callable

import pytest

import benchmarks.tasks
import pools.tasks
from benchmarks.models import FINAL, Run, Status
from benchmarks.runs.distributed import coordinator
from benchmarks.runs.execution import runner
from panel import celery_app
from panel.quickstart.ports import free_port
from tests.pools.api.conftest import make_cluster

OURS = (benchmarks.tasks.__name__, pools.tasks.__name__)


def test_a_message_is_acknowledged_before_its_work_so_that_long_work_is_not_delivered_again() -> None:
    ours = {name: task for name, task in celery_app.tasks.items() if name.rpartition(".")[0] in OURS}
    assert len(ours) > 10
    assert [name for name, task in ours.items() if task.acks_late or task.reject_on_worker_lost] == []


@pytest.fixture
def carried_out(settings: object, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The runs that a worker began to carry out."""
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    found: list[Run] = []
    monkeypatch.setattr(runner, "execute", found.append)
    monkeypatch.setattr(coordinator, "execute", found.append)
    return found


def becomes(status: Status) -> Callable[[Run], object]:
    """Let the run be in this state."""
    return lambda run: run.finish(status) if status in FINAL else run.write(status=status)


@pytest.mark.django_db
@pytest.mark.parametrize("status", [Status.STARTING, Status.RUNNING, *sorted(FINAL)])
def test_the_message_of_a_run_that_was_claimed_does_nothing_when_it_comes_again(
    carried_out: list[Run], status: Status
) -> None:
    run = Run.objects.enqueue(cluster=make_cluster())
    benchmarks.tasks.run_benchmark(str(run.pk))
    (claimed,) = carried_out
    becomes(status)(claimed)
    benchmarks.tasks.run_benchmark(str(run.pk))
    assert (len(carried_out), Run.objects.get().attempt, Run.objects.get().status) == (1, 1, status)
