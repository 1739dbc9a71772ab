"""What a running attempt writes, and that it writes nothing once it has ended."""

import time

import pytest

from benchmarks.analysis.latency.log_follower import Follower
from benchmarks.engines.base import Progress
from benchmarks.engines.log_files import LogFiles
from benchmarks.engines.pgbench.transaction_log import TransactionLog
from benchmarks.errors import Fenced
from benchmarks.models import Observation, ObservationKind, PoolSample, Run, RunOutput, Sample, Status
from benchmarks.processes.logs import LogsHere
from benchmarks.runs.execution import recorder as recorder_module
from benchmarks.runs.execution.recorder import Output, Recorder
from benchmarks.runs.observers.base import ObservedFigures
from benchmarks.runs.observers.pool import PoolObservation
from panel.quickstart.ports import free_port
from tests.benchmarks.records import the_options

pytestmark = pytest.mark.django_db
FIGURES = {"cl_active": 1, "cl_waiting": 2, "sv_active": 3, "sv_idle": 4, "maxwait_ms": 5.5}


def as_told(event):
    return event.name, event.id, event.payload


@pytest.fixture
def described(monkeypatch):
    """What would have gone to Redis: (event, id, payload)."""
    events = []
    monkeypatch.setattr(recorder_module.publisher, "publish", lambda run_id, *event: events.append(event))
    monkeypatch.setattr(
        recorder_module.publisher, "publish_all", lambda run_id, many: events.extend(map(as_told, many))
    )
    return events


@pytest.fixture
def recorder(settings, described) -> Recorder:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    return Recorder(Run.objects.claim(str(Run.objects.enqueue().pk), "local"))


@pytest.mark.usefixtures("few_are_enough")
def test_a_late_progress_line_takes_no_latency_of_the_next_interval(recorder, tmp_path):
    began = time.monotonic() - 10.0
    log = tmp_path / "pgbench_log.1"
    recorder.log_follower = Follower(LogFiles("pgbench_log.*", TransactionLog), LogsHere(tmp_path, "pgbench_log.*"))
    zero_us = round((time.time() - 10.0) * 1_000_000)
    at_us = zero_us + 2_500_000
    log.write_text(f"0 1 5000 0 {at_us // 1_000_000} {at_us % 1_000_000}\n" * 20)  # enough for a median
    for t, arrived in ((1.0, 1.0), (2.0, 2.9), (3.0, 3.0)):
        recorder.sample(Progress(t=t, tps=1.0, latency_ms=1.0, stddev_ms=None), began + arrived)
    assert [sample.latency_p50_ms for sample in recorder.samples] == [None, None, 5.0]


def test_the_first_progress_line_sets_the_clock(recorder, described):
    at = time.monotonic()
    recorder.begin(at - 3.0, status=Status.RUNNING)
    recorder.sample(Progress(t=2.5, tps=10.0, latency_ms=1.0, stddev_ms=None, failed=None), at)
    recorder.observe(PoolObservation(at + 0.5, FIGURES))
    recorder.flush()
    (sample,), (observation,) = Sample.objects.all(), PoolSample.objects.all()
    assert (sample.seq, sample.t, sample.tps, sample.failed, sample.stddev_ms) == (2, 2.5, 10.0, 0, None)
    assert (observation.seq, observation.t, observation.maxwait_ms) == (3, 3.0, 5.5)
    assert [(name, id_) for name, id_, _ in described] == [("state", "1-1"), ("sample", "1-2"), ("pool", "1-3")]
    assert described[2][2] == {"t": 3.0, **FIGURES}


def test_the_process_of_each_stage_has_a_clock_of_its_own_on_that_of_the_run(recorder):
    at = time.monotonic() - 10.0
    recorder.begin(at)
    recorder.sample(Progress(t=1.0, tps=10.0, latency_ms=1.0, stddev_ms=None), at + 1.5)  # began 0.5 s later
    recorder.line("stdout", "first")
    recorder.begin_stage(2, the_options(), summary={"stages": [{"clients": 1}]})
    assert (recorder.stage_samples, recorder.output.of_stage("stdout")) == ([], "")
    recorder.line("stdout", "second")
    for t in (1.0, 2.0):
        recorder.sample(Progress(t=t, tps=20.0, latency_ms=1.0, stddev_ms=None), at + 4.0 + t)
    assert [sample.t for sample in Sample.objects.order_by("seq")] == [1.0, 4.5, 5.5]
    assert ([one.t for one in recorder.stage_samples], recorder.stage_began_s) == ([1.0, 2.0], 3.5)
    assert recorder.output.of_stage("stdout") == "second\n"
    assert Run.objects.get().summary == {"stages": [{"clients": 1}]}


def test_looks_wait_for_each_other_and_are_kept_and_told_together(recorder, described):
    recorder.begin(at := time.monotonic())
    recorder.observe(ObservedFigures(ObservationKind.HOST, at + 1.5, {"cpu_percent": 40.0}))
    recorder.observe(ObservedFigures(ObservationKind.SERVER, at + 1.625, {"waits": {"CPU": 1}}))
    recorder.heartbeat()
    assert Observation.objects.count() == 0
    recorder._observations_stored_at -= recorder_module.OBSERVATIONS_WAIT_S
    recorder.heartbeat()
    kept = [
        (observation.kind, observation.seq, observation.t, observation.figures)
        for observation in Observation.objects.all()
    ]
    assert kept == [("host", 2, 1.5, {"cpu_percent": 40.0}), ("server", 3, 1.625, {"waits": {"CPU": 1}})]
    assert described[1:] == [
        ("host", "1-2", {"t": 1.5, "cpu_percent": 40.0}),
        ("waits", "1-3", {"t": 1.625, "waits": {"CPU": 1}}),
    ]
    recorder.heartbeat()
    assert Observation.objects.count() == 2


def test_looks_are_written_and_told_with_the_sample_of_their_second(recorder, described, django_assert_num_queries):
    recorder.begin(at := time.monotonic())
    recorder.observe(ObservedFigures(ObservationKind.HOST, at + 0.5, {"cpu_percent": 40.0}))
    recorder.observe(PoolObservation(at + 0.75, FIGURES))
    transaction_and_writes = 2 + 4  # the run and three tables
    with django_assert_num_queries(transaction_and_writes):
        recorder.sample(Progress(t=1.0, tps=10.0, latency_ms=1.0, stddev_ms=None), at + 1.0)
    assert [(name, id_) for name, id_, _ in described[1:]] == [("sample", "1-2"), ("host", "1-3"), ("pool", "1-4")]
    assert [model.objects.count() for model in (Sample, PoolSample, Observation)] == [1, 1, 1]


def test_the_last_looks_are_kept_with_the_last_output(recorder, described):
    figures: dict[str, object] = {"cpu_percent": 50.0, "busy_percent": 25.0}
    recorder.observe(ObservedFigures(ObservationKind.GENERATOR, recorder.began + 2.0, figures))
    recorder.flush()
    assert Observation.objects.count() == 1
    assert recorder.observed_totals.summary() == {"cpu_percent": 50.0, "busy_percent": 25.0}


def test_a_sample_renews_the_lease_and_stands_in_the_database_before_it_is_told(recorder, monkeypatch):
    before = recorder.run.lease_until
    found = []
    monkeypatch.setattr(recorder_module.publisher, "publish_all", lambda *events: found.append(Sample.objects.count()))
    recorder.sample(Progress(t=1.0, tps=1.0, latency_ms=1.0, stddev_ms=1.0), time.monotonic())
    assert found == [1]
    assert Run.objects.get(pk=recorder.run.pk).lease_until > before


@pytest.mark.parametrize("write", ["sample", "pool", "look", "state", "flush", "keep"])
def test_an_attempt_that_has_ended_writes_and_tells_nothing(recorder, described, write):
    recorder.line("stderr", "late")
    Run.objects.get(pk=recorder.run.pk).finish(Status.LOST)
    recorder._written_at -= 100
    recorder._observations_stored_at -= 100
    works = {
        "sample": lambda: recorder.sample(Progress(1.0, 1.0, 1.0, 1.0), time.monotonic()),
        "pool": lambda: (recorder.observe(PoolObservation(time.monotonic(), FIGURES)), recorder.heartbeat()),
        "look": lambda: (
            recorder.observe(ObservedFigures(ObservationKind.HOST, time.monotonic(), {})),
            recorder.heartbeat(),
        ),
        "state": lambda: recorder.state(progress_percent=1.0),
        "flush": recorder.flush,
        "keep": recorder.heartbeat,
    }
    with pytest.raises(Fenced):
        works[write]()
    kept = [model.objects.count() for model in (Sample, PoolSample, Observation, RunOutput)]
    assert (kept, described) == ([0, 0, 0, 0], [])


def test_output_is_kept_up_to_the_cap_of_each_stream():
    output = Output(cap_bytes=10)
    for line in ("four", "five5", "é", "x"):
        output.add("stderr", line)
    output.add("stdout", "whole")
    assert (output.text_of("stderr"), output.text_of("stdout"), output.truncated) == ("four\né\nx\n", "whole\n", True)
    assert output.pop_unsent() == {"stderr": "four\né\nx\n", "stdout": "whole\n"}
    assert output.pop_unsent() == {}


def test_output_reaches_the_database_in_pieces(recorder):
    recorder.line("stderr", "one")
    recorder.flush()
    recorder.line("stderr", "two")
    recorder.line("stdout", "tps")
    recorder.flush()
    recorder.flush()
    output = RunOutput.objects.get()
    assert (output.stderr, output.stdout, output.truncated) == ("one\ntwo\n", "tps\n", False)


def test_a_flood_of_lines_is_told_in_part(recorder, described):
    for _ in range(100):
        recorder.log("client 1 aborted", 1000.5)
    recorder.log("later", 1001.5)
    assert len(described) == recorder_module.LOG_LINES_A_SECOND + 1


def test_the_progress_of_a_dataset_is_told_a_few_times_a_second(recorder, described):
    for percent in range(101):
        recorder.progress(float(percent))
    assert [payload["progress_percent"] for _, _, payload in described] == [0.0, 100.0]


def test_a_cancel_is_seen(recorder):
    assert recorder.cancel_requested() is False
    Run.objects.get(pk=recorder.run.pk).request_cancel()
    assert recorder.cancel_requested() is True


def an_interval(t: float) -> Progress:
    return Progress(t=t, tps=10.0, latency_ms=1.0, stddev_ms=None)


def test_another_rate_is_due_when_an_interval_has_ended_since_it_was_asked_for(recorder, described):
    recorder.begin_stage(1, the_options(duration=300))
    recorder.sample(an_interval(60.0), 1060.0)
    Run.objects.update(requested_rate=500.0, requested_rate_stage=1)
    assert (recorder.cancel_requested(), recorder.requested_rate.due) == (False, None)
    recorder.sample(an_interval(120.0), 1120.0)
    assert (recorder.cancel_requested(), recorder.requested_rate.due) == (False, 500.0)
    recorder.begin_stage(2, the_options(duration=180, rate=500.0))
    Run.objects.update(requested_rate=0.0, requested_rate_stage=2)
    assert (recorder.cancel_requested(), recorder.requested_rate.due) == (False, None)
    recorder.sample(an_interval(60.0), 1180.0)
    assert recorder.requested_rate.due == 0.0


def test_a_rate_that_came_after_its_stage_is_told_and_no_other_stage_takes_it(recorder, described):
    recorder.begin_stage(2, the_options(duration=300, rate=100.0))
    Run.objects.update(requested_rate=500.0, requested_rate_stage=1)
    recorder.cancel_requested()
    recorder.sample(an_interval(1.0), 1001.0)
    assert recorder.requested_rate.due is None
    told = "(the rate was not changed to 500/s: the stage ended first)"
    assert recorder.output.text_of("stderr") == told + "\n"
    assert [payload["line"] for name, _id, payload in described if name == "log"] == [told]
    Run.objects.update(requested_rate_stage=2)  # the same rate, asked for again
    recorder.cancel_requested()
    recorder.sample(an_interval(2.0), 1002.0)
    assert recorder.requested_rate.due == 500.0


@pytest.mark.parametrize(("rate", "duration"), [(100.0, 300), (500.0, 11)], ids=["had already", "short rest"])
def test_no_process_is_started_anew_for_nothing(recorder, described, rate, duration):
    recorder.begin_stage(1, the_options(duration=duration, rate=100.0))
    Run.objects.update(requested_rate=rate, requested_rate_stage=1)
    recorder.cancel_requested()
    recorder.sample(an_interval(10.0), 1010.0)
    assert recorder.requested_rate.due is None


def test_what_was_seen_before_a_program_that_starts_slowly_made_its_first_request_is_of_no_load(settings, described):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    recorder = Recorder(Run.objects.claim(str(Run.objects.enqueue(engine="jmeter").pk), "local"))
    recorder.begin(started := time.monotonic() - 10.0)
    for second in range(4):
        recorder.observe(PoolObservation(started + second, FIGURES))
        recorder.observe(ObservedFigures(ObservationKind.HOST, started + second + 0.5, {"cpu_percent": 40.0}))
    recorder.flush()
    assert (PoolSample.objects.count(), Observation.objects.count()) == (0, 0)
    recorder.sample(Progress(t=1.0, tps=10.0, latency_ms=1.0, stddev_ms=None), started + 3.0)  # it began after 2 s
    recorder.observe(PoolObservation(started + 4.0, FIGURES))
    recorder.flush()
    assert [observation.t for observation in PoolSample.objects.order_by("seq")] == [0.0, 1.0, 2.0]
    assert [observation.t for observation in Observation.objects.order_by("seq")] == [0.5, 1.5]
