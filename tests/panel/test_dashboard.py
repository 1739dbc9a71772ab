"""The dashboard."""

import pytest
from django.test import Client

from benchmarks.models import Experiment, Purpose, Status
from pools.models import EventKind, PoolerState, PoolState
from tests import callers
from tests.benchmarks.records import a_finished_run, a_run
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_cluster, a_pool, a_pooler, checked


@pytest.fixture
def staff(db: None, client: Client) -> Client:
    """A browser in which staff is logged in."""
    client.force_login(callers.person())
    return client


def test_strangers_are_led_to_the_login(client):
    assert client.get("/").url == "/login/?next=/"
    assert client.get("/live/").url == "/login/?next=/live/"


def test_an_empty_panel_says_where_to_begin(staff):
    page = page_of(staff.get("/"))
    assert "From a server to a measured pool" in page
    assert "/clusters/new/" in page
    assert "Clients waiting" not in page


def test_each_step_done_leads_to_the_next(staff):
    a_cluster()
    assert "/poolers/new/" in page_of(staff.get("/"))
    a_pooler(port=1)
    assert "/pools/new/" in page_of(staff.get("/"))


def test_it_tells_what_there_is_and_whether_it_is_well(staff):
    cluster, pooler = a_cluster(name="orders"), a_pooler(name="edge", port=1, state=PoolerState.ONLINE)
    checked(cluster)
    checked(a_cluster(name="gone"), state="unreachable", error="connection refused: nothing listens there")
    web = a_pool(name="web", cluster=cluster, pooler=pooler, size=30, state=PoolState.APPLIED)
    a_pool(name="bad", cluster=cluster, pooler=pooler, state=PoolState.ROLLED_BACK, state_reason="the login failed")
    a_pool(name="shut", cluster=cluster, pooler=pooler, state=PoolState.FAILING, state_reason="no database")
    answer = staff.get("/")
    assert answer.context["totals"] == {
        "clusters": {"all": 2, "well": 1},
        "poolers": {"all": 1, "well": 1},
        "pools": {"all": 3, "well": 1},
        "entries": {"all": 0},
        "runs": {"all": 0, "now": 0, "queued": 0},
    }
    assert [(trouble.state, trouble.subject) for trouble in answer.context["troubles"]["shown"]] == [
        ("unreachable", "cluster gone"),
        ("failing", "pool shut"),
        ("rolled_back", "pool bad"),
    ]
    page = page_of(answer)
    assert "<strong>40</strong> of 97" in page  # a pool that was refused before it was ever live takes none
    assert f'href="/experiments/advice/{web.pk}/?question=pooling"' in page


def test_pools_of_one_name_are_told_apart_by_their_poolers(staff):
    cluster = a_cluster()
    for port, name in ((1, "rack-1"), (2, "rack-2")):
        a_pool(cluster=cluster, pooler=a_pooler(name=name, port=port), name="app", database="app")
    page = page_of(staff.get("/"))
    for name in ("rack-1", "rack-2"):
        assert f"app on {cluster}, through {name}" in page


def test_open_events_are_troubles_and_what_does_not_fit_is_counted(staff):
    for _ in range(7):
        an_event(a_pool(pooler=a_pooler(port=1)))
    an_event(a_pool(pooler=a_pooler(port=1)), kind=EventKind.DRIFT)
    troubles = staff.get("/").context["troubles"]
    assert ([trouble.state for trouble in troubles["shown"]], troubles["more"]) == (["warning"] * 5, 2)
    assert '<a href="/events/?state=open">and 2 more</a>' in page_of(staff.get("/"))


def test_known_vulnerabilities_stand_behind_what_fails_now(staff):
    pooler = a_pooler(name="edge", port=1)
    a_pool(name="shut", pooler=pooler, state=PoolState.FAILING, state_reason="no database")
    for _ in range(5):
        an_event(a_pool(pooler=pooler), kind=EventKind.VULNERABLE)
    troubles = staff.get("/").context["troubles"]
    assert [trouble.state for trouble in troubles["shown"]] == ["failing", *["warning"] * 4]
    assert troubles["more"] == 1


def test_a_configuration_that_is_not_as_it_was_wished_is_trouble_though_every_pool_is_applied(staff):
    edge = a_pooler(name="edge", port=1, drift=[{"where": "pooldeck.ini", "what": "it was edited by hand"}])
    core = a_pooler(name="core", port=2, settings_state=PoolState.ROLLED_BACK, settings_reason="the reload was refused")
    an_event(a_pool(pooler=edge, state=PoolState.APPLIED), kind=EventKind.DRIFT)
    troubles = staff.get("/").context["troubles"]
    assert [(trouble.state, trouble.subject, trouble.reason, trouble.url) for trouble in troubles["shown"]] == [
        ("drifted", "pooler edge", "pooldeck.ini: it was edited by hand", f"/poolers/{edge.pk}/drift/"),
        ("rolled_back", "settings of pooler core", "the reload was refused", f"/poolers/{core.pk}/settings/"),
    ]
    assert troubles["more"] == 0


def test_it_shows_the_latest_measurements_with_their_course(staff):
    a_finished_run(name="first")
    a_run(purpose=Purpose.PREPARE, status=Status.SUCCEEDED)
    answer = staff.get("/")
    assert [row["run"].name for row in answer.context["runs"]] == ["first"]
    page = page_of(answer)
    assert "<polyline" in page
    assert "6,396" in page


def test_is_my_pool_worth_it_leads_to_an_experiment_of_direct_and_pooled(staff):
    pool = a_pool(state=PoolState.APPLIED)
    a_finished_run()
    assert f'href="/experiments/advice/{pool.pk}/?question=pooling"' in page_of(staff.get("/"))


def test_it_costs_the_same_with_one_and_three_of_each(staff):
    def add():
        cluster = a_cluster()
        checked(cluster)
        a_pool(cluster=cluster, pooler=a_pooler(port=1))
        a_finished_run(cluster=cluster)

    add()
    once = queries_of(staff, "/")
    once_live = queries_of(staff, "/live/")
    add()
    add()
    assert queries_of(staff, "/") == once
    assert queries_of(staff, "/live/") == once_live


def test_figures_nobody_asked_for_yet_are_not_zero(staff):
    a_pool(pooler=a_pooler(port=1), size=10)
    for url in ("/", "/pools/"):
        page = " ".join(page_of(staff.get(url)).split())
        assert 'data-label="Waiting"><span class="pd-muted">–</span>' in page


def test_the_moving_part_outlives_a_console_that_does_not_answer(staff):
    a_pool(name="web", pooler=a_pooler(port=1))
    answer = staff.get("/live/", headers={"HX-Request": "true"})
    page = page_of(answer)
    assert answer.context["waiting"] == 0
    assert "web" in page
    assert "t be reached" in page


def test_a_prepared_dataset_is_no_measurement(staff):
    a_run(status=Status.SUCCEEDED, purpose=Purpose.PREPARE)
    page = staff.get("/")
    assert page.context["totals"]["runs"]["all"] == 0
    assert page.context["runs"] == []


@pytest.mark.parametrize("page", ["dashboard", "getting started", "pool"])
def test_a_first_answer_is_one_click_away_where_nothing_is_protected(
    staff: Client, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.experiments.advice.sweep.require_queue", lambda: None)
    monkeypatch.setattr("benchmarks.experiments.dispatch.request_advance", lambda: None)
    cluster = a_cluster(protected=False)
    pool = a_pool(cluster=cluster, state=PoolState.APPLIED)
    if page == "dashboard":
        a_finished_run(50)
    url = f"/pools/{pool.pk}/" if page == "pool" else "/"
    action = f"/experiments/advice/{pool.pk}/at-once/"
    assert f'action="{action}"' in page_of(staff.get(url))
    answer = staff.post(action)
    experiment = Experiment.objects.get()
    assert answer["Location"] == f"/experiments/{experiment.pk}/"
    assert (experiment.advice["question"], experiment.advice["minutes"]) == ("pooling", 1)
    cluster.protected = True
    cluster.save(update_fields=["protected"])
    assert f'action="{action}"' not in page_of(staff.get(url))
    refused = staff.post(action)
    assert refused["Location"] == f"/experiments/advice/{pool.pk}/?question=pooling"
    assert Experiment.objects.count() == 1
