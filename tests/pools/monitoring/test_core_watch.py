"""The use of a pooler's one core between two polls, and its event."""

from pathlib import Path

import pytest

from pools.models import Event, EventKind, Pooler
from pools.monitoring import alerting, core_watch, metric_values, redis_store, thresholds
from pools.monitoring.core_watch import ProcessUse
from pools.monitoring.hysteresis import Rule
from pools.poolers import core_times
from pools.poolers.pool_queue import CoreUse
from tests.pools.records import a_pooler, three_processes

pytestmark = pytest.mark.django_db
S = 10**9


class Host:
    """The processes of a host, its clock, and what Redis keeps."""

    def __init__(self, proc: Path) -> None:
        self.proc, self.now, self.kept = proc, 0, {}

    def process(self, pid: int, ran_s: float, waited_s: float = 0, program: str = "pgbouncer") -> None:
        folder = self.proc / str(pid)
        folder.mkdir(exist_ok=True)
        (folder / "comm").write_text(f"{program}\n")
        (folder / "schedstat").write_text(f"{int(ran_s * S)} {int(waited_s * S)} 17\n")


@pytest.fixture
def host(tmp_path, monkeypatch) -> Host:
    made = Host(tmp_path)
    monkeypatch.setattr(core_times, "PROC", tmp_path)
    monkeypatch.setattr(core_watch, "now_ns", lambda: made.now)
    monkeypatch.setattr(redis_store, "read", made.kept.get)
    monkeypatch.setattr(redis_store, "keep", lambda key, value, _for_s: made.kept.update({key: value}))
    return made


def pooler_of(*pids: int, **fields: object) -> Pooler:
    return a_pooler(processes=[three_processes()[0] | {"pid": pid} for pid in pids], **fields)


def test_the_use_is_that_of_the_busiest_process_since_the_last_poll(host):
    pooler = pooler_of(11, 12)
    host.process(11, ran_s=100)
    host.process(12, ran_s=7, waited_s=3)
    assert core_watch.uses_of([pooler]) == {}  # one reading tells nothing
    host.now = 10 * S
    host.process(11, ran_s=105)
    host.process(12, ran_s=15, waited_s=4.5)
    (found,) = core_watch.uses_of([pooler]).values()
    assert (found.pid, found.use.running, found.use.waiting) == (12, pytest.approx(0.8), pytest.approx(0.15))


def test_a_number_that_another_process_has_now_tells_nothing(host):
    pooler = pooler_of(11)
    host.process(11, ran_s=100)
    core_watch.uses_of([pooler])
    host.now = 10 * S
    host.process(11, ran_s=1)  # a new one
    assert core_watch.uses_of([pooler]) == {}
    host.now = 20 * S
    host.process(11, ran_s=9, program="postgres")
    assert core_watch.uses_of([pooler]) == {}


def test_a_process_that_is_elsewhere_or_gone_or_of_another_kind_tells_nothing(host):
    host.process(11, ran_s=1)
    elsewhere = pooler_of(11, delivery="ssh")
    poolers = [elsewhere, pooler_of(12), pooler_of(), pooler_of(11, kind="pgpool")]
    for host.now in (0, 10 * S):
        assert core_watch.uses_of(poolers) == {}


def test_the_kernel_counts_the_times_of_a_real_process():
    times = core_times.of_process(1)
    assert times is None or min(times) >= 0  # a container may hide it
    assert core_times.of_process(2**22 + 1) is None


def test_a_full_core_is_an_event_that_says_what_it_used_and_waited_for():
    pooler = a_pooler(name="edge")
    rules = {EventKind.CORE: thresholds.Bound(thresholds.WATCHES[EventKind.CORE], Rule(90, 75, 0))}
    for running in (0.79, 0.8, 0.65, 0.5):
        cores = {pooler.pk: ProcessUse(4711, CoreUse(running, 0.1))}
        values = [one for one in metric_values.all_values({}, cores) if one.kind == EventKind.CORE]
        alerting.judge_values(values, rules)
    event = Event.objects.get()
    assert (event.subject_name, round(event.value, 3), event.is_open) == ("edge", 90, False)
    assert event.message == "process 4711 used 80 % of the one core that it can use, and waited 10 % for it"


def test_it_costs_one_reading_of_redis_and_one_writing_whatever_the_number_of_poolers(host, monkeypatch):
    asked = []
    monkeypatch.setattr(redis_store, "read", lambda key: asked.append(key))
    monkeypatch.setattr(redis_store, "keep", lambda key, value, _for_s: asked.append(sorted(value)))
    for pid in (11, 12, 13):
        host.process(pid, ran_s=1)
    core_watch.uses_of([pooler_of(pid) for pid in (11, 12, 13)])
    assert (len(asked), asked[1]) == (2, ["11", "12", "13"])
