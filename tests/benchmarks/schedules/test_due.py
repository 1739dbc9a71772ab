"""What is due starts once, and what could not start is told with its reason, with a moved clock."""

from datetime import timedelta
from typing import Any

import pytest

from benchmarks.errors import QueueDown
from benchmarks.models import Run, Schedule, ScheduledStart, StartState, Status
from benchmarks.runs.submission import submit
from benchmarks.runs.submission.submit import RunRequest
from benchmarks.schedules import due
from core.accounts.models import Membership, Role
from tests.benchmarks.records import a_finished_run, a_run
from tests.benchmarks.schedules.records import DUE, a_schedule
from tests.callers import person
from tests.pools.records import a_cluster, a_pool

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RunRequest]:
    """What was submitted, without a server; each becomes a queued run."""
    found: list[RunRequest] = []

    def accept(request: RunRequest) -> list[Run]:
        found.append(request)
        return [a_run(pk=request.run_id, status=Status.QUEUED)]

    monkeypatch.setattr(submit, "submit", accept)
    return found


def outcomes(schedule: Schedule) -> list[tuple[str, str, int]]:
    """State, reason and due times of the starts, the earliest first."""
    return [(one.state, one.reason, one.due_times) for one in schedule.starts.order_by("due_at")]


def end_all() -> None:
    for run in Run.objects.unfinished():
        run.finish(Status.SUCCEEDED)


def test_nothing_starts_before_its_time(asked: list[RunRequest]) -> None:
    schedule = a_schedule()
    due.start_due(DUE - MINUTE)
    assert (asked, outcomes(schedule)) == ([], [])


def test_a_due_run_starts_with_its_configuration_and_the_next_time_is_noted(asked: list[RunRequest]) -> None:
    run = a_finished_run(
        0, cluster=a_cluster(protected=False), role="app", name="gate", thresholds=[{"metric": "tps", "at_least": 1}]
    )
    schedule = a_schedule(run=run, repeat=3)
    due.start_due(DUE + MINUTE)
    (request,), start = asked, schedule.starts.get()
    assert request.target == {"cluster": str(run.cluster_id), "database": "shop", "user": "app"}
    assert (request.options, request.name, request.repeat, request.pair) == (run.options, "gate", 3, False)
    assert (request.author, request.run_id, request.thresholds) == (schedule.author, start.pk, run.thresholds)
    assert (start.state, start.due_at, start.run_id) == (StartState.STARTED, DUE, start.pk)
    schedule.refresh_from_db()
    assert schedule.due_at == DUE + DAY


def test_a_pair_starts_as_a_pair(asked: list[RunRequest]) -> None:
    pool = a_pool(cluster=a_cluster(protected=False))
    a_schedule(run=a_finished_run(0, cluster=pool.cluster, pool=pool, pooled=True), pair=True)
    due.start_due(DUE)
    assert [(one.pair, one.target["pool"]) for one in asked] == [(True, str(pool.pk))]


def test_a_due_time_starts_once_with_two_beats_and_redelivery(asked: list[RunRequest]) -> None:
    schedule = a_schedule()
    seen_by_both = [Schedule.objects.get(), Schedule.objects.get()]
    claims = [due.claim(one, DUE + MINUTE) for one in seen_by_both]
    assert [claim is not None for claim in claims] == [True, False]
    due.start_due(DUE + MINUTE)
    assert schedule.starts.count() == 1


def test_a_due_time_that_has_its_start_is_not_started_again(asked: list[RunRequest]) -> None:
    schedule = a_schedule()
    due.start_due(DUE)
    end_all()
    Schedule.objects.update(due_at=DUE)  # as after a restored backup of this row
    due.start_due(DUE + MINUTE)
    schedule.refresh_from_db()
    assert (len(asked), schedule.due_at) == (1, DUE + DAY)


def test_after_a_day_of_outage_one_line_tells_of_what_was_missed(asked: list[RunRequest]) -> None:
    schedule = a_schedule(cron="15 * * * *")
    due.start_due(DUE + DAY + timedelta(minutes=30))
    reason = "the panel was down or paused: 24 due times passed"
    assert outcomes(schedule) == [("missed", reason, 24), ("started", "", 1)]
    schedule.refresh_from_db()
    assert (len(asked), schedule.due_at) == (1, DUE + DAY + timedelta(hours=1))


def test_what_is_later_than_its_latest_start_is_missed(asked: list[RunRequest]) -> None:
    schedule = a_schedule(starting_deadline_minutes=30)
    due.start_due(DUE + 31 * MINUTE)
    assert outcomes(schedule) == [("missed", "the panel was down or paused: 1 due time passed", 1)]
    assert asked == []


def test_a_short_outage_does_not_cost_the_night(asked: list[RunRequest]) -> None:
    schedule = a_schedule()
    due.start_due(DUE + 29 * MINUTE)
    assert [state for state, *_ in outcomes(schedule)] == ["started"]


def test_a_very_long_outage_is_counted_to_an_end(asked: list[RunRequest]) -> None:
    schedule = a_schedule(cron="*/5 * * * *")
    due.start_due(DUE + 30 * DAY)
    assert [reason for _state, reason, _n in outcomes(schedule)] == [
        "the panel was down or paused: more than 1000 due times passed"
    ]


def test_nothing_piles_up_while_the_one_before_runs(asked: list[RunRequest]) -> None:
    schedule = a_schedule(starting_deadline_minutes=24 * 60)
    due.start_due(DUE)
    (run,) = Run.objects.filter(status=Status.QUEUED)
    Run.objects.filter(pk=run.pk).update(status=Status.RUNNING)
    due.start_due(DUE + DAY)
    assert outcomes(schedule)[1:] == [("missed", f"{run}, which it started before, has not ended yet", 1)]
    end_all()
    due.start_due(DUE + 2 * DAY)
    assert [state for state, *_ in outcomes(schedule)] == ["started", "missed", "started"]


def test_a_run_that_waits_past_its_latest_start_is_cancelled_and_told(
    asked: list[RunRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = due.queue_status.QueueStatus(None, 0, None, missing=("no generator is alive: start a worker",))
    monkeypatch.setattr(due.queue_status, "waits_for", lambda run: waits)
    schedule = a_schedule()
    due.start_due(DUE)
    due.start_due(DUE + 59 * MINUTE)
    assert [state for state, *_ in outcomes(schedule)] == ["started"]
    due.start_due(DUE + 61 * MINUTE)
    (run,) = Run.objects.exclude(pk=schedule.run_id)
    reason = f"{run} had not begun after 60 minutes and was cancelled: no generator is alive: start a worker"
    assert (outcomes(schedule), run.status) == ([("missed", reason, 1)], Status.CANCELLED)


def test_a_protected_cluster_needs_the_consent_of_an_owner_once(asked: list[RunRequest]) -> None:
    cluster = a_cluster(name="prod", protected=True)
    schedule = a_schedule(run=a_finished_run(0, cluster=cluster))
    due.start_due(DUE)
    reason = "cluster prod is protected: an owner has to agree to the schedule once"
    assert (outcomes(schedule), asked) == ([("missed", reason, 1)], [])
    Schedule.objects.update(consented_at=DUE)
    due.start_due(DUE + DAY)
    end_all()
    due.start_due(DUE + 2 * DAY)
    assert [one.confirm for one in asked] == ["shop", "shop"]


def test_a_refusal_keeps_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: RunRequest) -> list[Run]:
        raise QueueDown("redis can't be reached")

    monkeypatch.setattr(submit, "submit", refuse)
    schedule = a_schedule()
    due.start_due(DUE)
    assert outcomes(schedule) == [("missed", "redis can't be reached", 1)]


def _without_author() -> dict[str, Any]:
    return {"author": None}


def _inactive() -> dict[str, Any]:
    user = person("gone")
    user.is_active = False
    user.save()
    return {"author": user}


def _viewer() -> dict[str, Any]:
    user = person("looker", staff=False)
    Membership.objects.filter(user=user).update(role=Role.VIEWER)
    return {"author": user}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (_without_author, "its author can't log in any more: somebody else has to save the schedule"),
        (_inactive, "its author can't log in any more: somebody else has to save the schedule"),
        (_viewer, "its author looker may not start it any more"),
        (lambda: {"run": a_finished_run(0)}, "what run 1 loads was removed"),
    ],
)
def test_nobody_s_rights_start_nothing(asked: list[RunRequest], fields: Any, reason: str) -> None:
    schedule = a_schedule(**fields())
    due.start_due(DUE)
    assert (outcomes(schedule), asked) == ([("missed", reason, 1)], [])


def test_a_start_whose_worker_ended_is_settled_by_what_began(asked: list[RunRequest]) -> None:
    schedule = a_schedule(paused_at=DUE)
    began, unborn = (schedule.starts.create(due_at=DUE + at * DAY, claimed_at=DUE) for at in (0, 1))
    run = a_run(pk=began.pk, status=Status.SUCCEEDED)
    due.start_due(DUE + 9 * MINUTE)
    assert {one.state for one in ScheduledStart.objects.all()} == {"claimed"}
    due.start_due(DUE + 11 * MINUTE)
    began.refresh_from_db()
    unborn.refresh_from_db()
    assert (began.run, began.state) == (run, "started")
    assert (unborn.state, unborn.reason) == ("missed", "the worker ended while it started")


def test_by_hand_it_starts_beside_its_times(asked: list[RunRequest]) -> None:
    schedule, somebody = a_schedule(), person("ada")
    start = due.start_now(schedule, somebody)
    assert (start.state, start.by, asked[0].author) == ("started", somebody, schedule.author)
    schedule.refresh_from_db()
    assert schedule.due_at == DUE


def test_a_failure_of_the_panel_is_told_and_keeps_no_other_schedule_from_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = a_schedule(), a_schedule(due_at=DUE + MINUTE)

    def fail_first(request: RunRequest) -> list[Run]:
        if first.starts.filter(pk=request.run_id).exists():
            raise RuntimeError("a fault of the code")
        return [a_run(pk=request.run_id, status=Status.QUEUED)]

    monkeypatch.setattr(submit, "submit", fail_first)
    due.start_due(DUE + 2 * MINUTE)
    reason = "the panel failed (RuntimeError); the log of the worker has more"
    assert outcomes(first) == [(StartState.MISSED, reason, 1)]
    assert [state for state, _reason, _times in outcomes(second)] == [StartState.STARTED]
