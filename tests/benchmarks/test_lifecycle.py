"""The life of runs under every order of events: one process at the most, one final state, nothing after it."""

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from benchmarks.errors import Fenced
from benchmarks.models import ACTIVE, FINAL, Run, Status
from benchmarks.runs.execution import reaper
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.submission import cancel as cancellation
from benchmarks.runs.submission import split
from panel.quickstart.ports import free_port
from tests.benchmarks.records import the_options
from tests.pools.api.conftest import make_cluster

pytestmark = pytest.mark.django_db
GENERATORS = st.sampled_from(["north", "south"])
ENDS = st.sampled_from([Status.SUCCEEDED, Status.FAILED, Status.TIMED_OUT])


class Life(RuleBasedStateMachine):
    """Two clusters, two generators, and whatever may happen to runs, and to parts of runs over both, in any order."""

    runs = Bundle("runs")
    wholes = Bundle("wholes")

    def __init__(self) -> None:
        super().__init__()
        Run.objects.all().delete()
        self.clusters = [make_cluster("north"), make_cluster("south")]
        self.started: dict[object, int] = {}
        self.workers: list[Run] = []  # claims whose holder still lives, fenced or not
        self.ends: dict[object, tuple[object, ...]] = {}

    @rule(target=runs, where=st.integers(0, 1))
    def submit(self, where: int) -> Run:
        return Run.objects.enqueue(cluster=self.clusters[where])

    @rule(target=runs, where=st.integers(0, 1), generator=GENERATORS)
    def submit_to_one_generator(self, where: int, generator: str) -> Run:
        return Run.objects.enqueue(cluster=self.clusters[where], wanted_generators=[generator], generator=generator)

    @rule(target=wholes, where=st.integers(0, 1))
    def submit_over_both(self, where: int) -> Run:
        run = Run.objects.enqueue(
            cluster=self.clusters[where], wanted_generators=["north", "south"], options=the_options(clients=4)
        )
        split.make_parts(run)
        return run

    @rule(run=wholes, generator=GENERATORS)
    def deliver_a_whole(self, run: Run, generator: str) -> None:
        self.deliver(run, generator)

    @rule(run=wholes, which=st.integers(0, 1), generator=GENERATORS)
    def deliver_a_part(self, run: Run, which: int, generator: str) -> None:
        self.deliver(run.parts.order_by("number")[which], generator)

    @rule(run=wholes, which=st.integers(-1, 1))
    def cancel_a_whole_or_a_part(self, run: Run, which: int) -> None:
        found = Run.objects.get(pk=run.pk) if which < 0 else run.parts.order_by("number")[which]
        cancellation.cancel(found)

    @rule(run=wholes)
    def dismiss_its_parts(self, run: Run) -> None:
        """As its leader does, once it has claimed the whole."""
        for part in run.parts.filter(attempt=1):
            part.request_cancel()

    @rule(run=wholes, which=st.integers(-1, 1))
    def let_the_lease_of_a_whole_or_a_part_run_out(self, run: Run, which: int) -> None:
        self.let_the_lease_run_out(run if which < 0 else run.parts.order_by("number")[which])

    @rule(run=runs, generator=GENERATORS)
    def deliver(self, run: Run, generator: str) -> None:
        if claimed := Run.objects.claim(str(run.pk), generator):
            self.started[run.pk] = self.started.get(run.pk, 0) + 1
            self.workers.append(claimed)

    @rule(run=runs)
    def cancel(self, run: Run) -> None:
        Run.objects.get(pk=run.pk).request_cancel()

    @rule(run=runs)
    def cancel_by_somebody_who_saw_it_queued(self, run: Run) -> None:
        run.request_cancel()

    @rule(which=st.integers(0, 3))
    def work(self, which: int) -> None:
        if which < len(self.workers):
            try:
                self.workers[which].write(status=Status.RUNNING)
            except Fenced:
                self.workers.pop(which)

    @rule(which=st.integers(0, 3), status=ENDS)
    def end(self, which: int, status: Status) -> None:
        if which < len(self.workers):
            self.workers.pop(which).finish(status, error=str(status))

    @rule(which=st.integers(0, 3))
    def die(self, which: int) -> None:
        if which < len(self.workers):
            self.workers.pop(which)

    @rule(run=runs)
    def let_the_lease_run_out(self, run: Run) -> None:
        Run.objects.filter(pk=run.pk, status__in=ACTIVE).update(lease_until=timezone.now() - timedelta(seconds=1))

    @rule()
    def reap(self) -> None:
        reaper.reap()

    @invariant()
    def each_run_starts_once_at_the_most(self) -> None:
        assert set(self.started.values()) <= {1}

    @invariant()
    def a_cluster_and_a_generator_carry_one_run(self) -> None:
        active = list(Run.objects.filter(status__in=ACTIVE))
        clusters = [run.cluster_id for run in active if run.parent_id is None]
        generators = [run.generator for run in active if not run.is_spread]
        assert len(set(clusters)) == len(clusters)
        assert len(set(generators)) == len(generators)
        assert set(generators) <= {"north", "south"}

    @invariant()
    def a_run_is_where_it_was_asked_to_be(self) -> None:
        for run in Run.objects.exclude(attempt=0):
            assert run.is_spread or run.generator in (run.wanted_generators or ["north", "south"])

    @invariant()
    def a_whole_and_its_parts_start_together_or_not_at_all(self) -> None:
        for run in Run.objects.top_level().prefetch_related("parts"):
            assert {part.attempt for part in run.parts.all()} <= {run.attempt}

    @invariant()
    def no_part_is_left_queued_once_its_whole_has_ended(self) -> None:
        assert not Run.objects.filter(status=Status.QUEUED, parent__status__in=FINAL).exists()

    @invariant()
    def a_part_of_an_ended_whole_is_told_to_end(self) -> None:
        for part in Run.objects.filter(status__in=ACTIVE, parent__status__in=FINAL):
            assert Recorder(part).cancel_requested()

    @invariant()
    def what_has_ended_stays_as_it_is(self) -> None:
        for run in Run.objects.filter(status__in=FINAL):
            end = (run.status, run.error, run.attempt, run.finished_at)
            assert self.ends.setdefault(run.pk, end) == end

    def teardown(self) -> None:
        Run.objects.all().delete()
        for cluster in self.clusters:
            cluster.delete()


@pytest.mark.parametrize("examples", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_every_order_of_events_leaves_one_process_and_one_end(settings_without_redis: None, examples: int) -> None:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    asked = settings(max_examples=examples, stateful_step_count=25, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(Life, settings=asked)


@pytest.fixture
def settings_without_redis(settings) -> None:
    """Nobody listens there: watchers are told nothing."""
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
