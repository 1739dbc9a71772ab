"""The pages of schedules."""

from datetime import datetime

from django.contrib.auth.models import User

from benchmarks.models import Schedule
from benchmarks.runs.submission import submit
from core.accounts.models import Membership, Role
from tests.benchmarks.experiments.records import a_measured_experiment
from tests.benchmarks.records import a_finished_run, a_run
from tests.benchmarks.schedules.records import DUE, a_schedule
from tests.callers import person, queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool

LIST, CREATE, PREVIEW = "/schedules/", "/schedules/new/", "/schedules/new/preview/"
DAILY = {"rhythm": "daily", "at": "02:15", "time_zone": "Europe/Berlin"}
FILLED = {"name": "each night", "repeat": 2, "starting_deadline_minutes": 90} | DAILY


def url(schedule: Schedule, *rest: str) -> str:
    return "/".join([f"/schedules/{schedule.pk}", *rest, ""])


def test_an_empty_list_says_the_next_step(staff):
    text = page_of(staff.get(LIST))
    assert "No schedule yet" in text
    assert 'href="/runs/"' in text


def test_the_list_takes_the_same_queries_for_one_and_three(staff):
    def add() -> None:
        schedule = a_schedule()
        schedule.starts.create(due_at=DUE, claimed_at=DUE, run=schedule.run, state="started")

    add()
    one = queries_of(staff, LIST)
    add()
    add()
    assert queries_of(staff, LIST) == one


def test_a_run_s_page_leads_to_its_schedule(staff):
    run = a_finished_run(0, cluster=a_cluster())
    assert f'href="{CREATE}?run={run.pk}"' in page_of(staff.get(f"/runs/{run.pk}/"))


def test_an_experiment_s_page_leads_to_its_schedule(staff):
    experiment = _experiment()
    assert f'href="{CREATE}?experiment={experiment.pk}"' in page_of(staff.get(f"/experiments/{experiment.pk}/"))


def _experiment():
    return a_measured_experiment({"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195]})


def test_a_schedule_is_made_changed_and_deleted(staff):
    run = a_finished_run(0, cluster=a_cluster())
    answer = staff.post(f"{CREATE}?run={run.pk}", FILLED)
    made = Schedule.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, url(made))
    assert (made.run, made.cron, made.repeat, made.starting_deadline_minutes) == (run, "15 2 * * *", 2, 90)
    assert made.due_at is not None
    weekly = FILLED | {"name": "weekly", "rhythm": "weekly", "weekday": 6, "time_zone": "UTC"}
    staff.post(url(made, "edit"), weekly)
    made.refresh_from_db()
    assert (made.name, made.cron, made.time_zone) == ("weekly", "15 2 * * 6", "UTC")
    assert 'value="6" selected' in page_of(staff.get(url(made, "edit")))
    assert "Delete weekly?" in page_of(staff.get(url(made, "delete")))
    staff.post(url(made, "delete"))
    assert not Schedule.objects.exists()


def test_a_pair_is_offered_of_a_run_through_a_pool_and_of_the_other_of_its_group(staff):
    pool = a_pool()
    group = "6d5c4b3a-2918-4706-8f5e-3d2c1b0a9f8e"
    direct = a_finished_run(0, cluster=pool.cluster, group=group)
    pooled = a_finished_run(0, cluster=pool.cluster, pool=pool, pooled=True, group=group)
    staff.post(f"{CREATE}?run={direct.pk}", FILLED | {"pair": "on"})
    assert [(one.run, one.pair) for one in Schedule.objects.all()] == [(pooled, True)]
    alone = a_finished_run(0, cluster=pool.cluster)
    assert 'name="pair"' not in page_of(staff.get(f"{CREATE}?run={alone.pk}"))


def test_an_experiment_has_no_repeats_of_its_schedule(staff):
    experiment = _experiment()
    assert 'name="repeat"' not in page_of(staff.get(f"{CREATE}?experiment={experiment.pk}"))
    assert staff.post(f"{CREATE}?experiment={experiment.pk}", FILLED).status_code == 302
    assert Schedule.objects.get().repeated == experiment


def test_what_is_no_cron_line_is_told_beside_its_field(staff):
    run = a_finished_run(0, cluster=a_cluster())
    answer = staff.post(f"{CREATE}?run={run.pk}", FILLED | {"rhythm": "cron", "cron": "15 25 * * *"})
    assert answer.status_code == 400
    assert answer.context["form"].errors["cron"] == ["15 25 * * * is not a cron line: Bad hour"]


def test_neither_a_dataset_s_run_nor_nothing_is_scheduled(staff):
    preparation = a_run(cluster=a_cluster(), purpose="prepare", status="succeeded")
    text = page_of(staff.post(f"{CREATE}?run={preparation.pk}", FILLED))
    assert "is not a load that somebody started: choose another run" in text
    assert staff.get(CREATE).status_code == 404


def test_the_next_five_times_are_shown_in_the_zone_as_one_types(staff):
    text = page_of(staff.get(PREVIEW, DAILY))
    assert text.count("<li>") == 5
    assert ", 02:15 CE" in text
    fault = page_of(staff.get(PREVIEW, DAILY | {"rhythm": "cron", "cron": "* * * * *"}))
    assert "is due more often than every 5 minutes" in fault
    assert "None while the form is not complete" in page_of(staff.get(PREVIEW, {"rhythm": "daily"}))


def test_a_page_tells_what_became_of_its_times(staff):
    schedule = a_schedule(time_zone="Europe/Berlin")
    schedule.starts.create(due_at=DUE, claimed_at=DUE, state="missed", reason="no generator is alive", due_times=3)
    schedule.starts.create(due_at=datetime.now().astimezone(), claimed_at=DUE, state="started", run=schedule.run)
    text = page_of(staff.get(url(schedule)))
    for part in ("daily at 02:15", "Sat 28 Nov 2026, 03:15 CET", "no generator is alive", f"/runs/{schedule.run_id}/"):
        assert part in text


def test_it_is_paused_and_resumed(staff):
    schedule = a_schedule()
    staff.post(url(schedule, "pause"))
    schedule.refresh_from_db()
    assert (schedule.paused_at is not None, schedule.due_at) == (True, None)
    assert "none: it is paused" in page_of(staff.get(url(schedule)))
    staff.post(url(schedule, "resume"))
    schedule.refresh_from_db()
    assert (schedule.paused_at, schedule.due_at is not None) == (None, True)


def test_run_now_starts_it(staff, monkeypatch):
    schedule = a_schedule()
    monkeypatch.setattr(submit, "submit", lambda request: [a_run(pk=request.run_id)])
    answer = staff.post(url(schedule, "run-now"), follow=True)
    assert f"Run {schedule.starts.get().run.number} was started." in page_of(answer)


def test_run_now_tells_why_nothing_starts(staff):
    schedule = a_schedule(author=None)
    answer = staff.post(url(schedule, "run-now"), follow=True)
    assert "Nothing was started: its author can&#x27;t log in any more" in answer.content.decode()


def test_an_owner_agrees_by_the_cluster_s_name_and_each_change_asks_again(client, db):
    cluster = a_cluster(name="prod", protected=True)
    schedule = a_schedule(run=a_finished_run(0, cluster=cluster))
    owner, operator = _member("owner", Role.OWNER), _member("operator", Role.OPERATOR)
    client.force_login(operator)
    assert client.post(url(schedule, "consent"), {"confirm": "prod"}).status_code == 403
    client.force_login(owner)
    assert "Type the cluster's name, prod, to agree" in page_of(client.get(url(schedule)))
    assert "type the name of cluster prod" in page_of(client.post(url(schedule, "consent"), follow=True))
    client.post(url(schedule, "consent"), {"confirm": "prod"})
    schedule.refresh_from_db()
    assert (schedule.consented_by, schedule.needs_consent) == (owner, False)
    client.post(url(schedule, "edit"), FILLED)
    schedule.refresh_from_db()
    assert (schedule.author, schedule.needs_consent) == (owner, True)


def _member(name: str, role: Role) -> User:
    user = person(name, staff=False)
    Membership.objects.filter(user=user).update(role=role)
    return user
