"""Read-only links: who makes and revokes them, how they end, and that they show figures and nothing else."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.experiments.report import shared_links
from benchmarks.models import Run, RunOutput, SharedLink
from core.accounts.models import Membership, Role, Team
from core.audit.models import Entry
from tests.benchmarks.experiments.records import a_measured_experiment
from tests.benchmarks.records import a_finished_run
from tests.callers import person
from tests.pages import page_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
CANARY = "zq-canary"
FIGURES = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195], "10-scram-pgpool": [98, 99, 97]}


def in_browser(role: Role | None = None) -> Client:
    """A browser of somebody with a role in the first team; of an administrator where none is given."""
    user = person(staff=role is None)
    if role:
        Membership.objects.filter(user=user).update(role=role)
    client = Client()
    client.force_login(user)
    return client


def path_of(made: str) -> str:
    return "/shared/" + made.split("/shared/")[1]


def link_to(shown: object) -> str:
    """The path of a new link."""
    return path_of(shared_links.issue(shown, person(), timedelta(days=7))[1])


def a_telling_run() -> Run:
    """A run with a secret or somebody's data wherever a run keeps text that is not chosen by the panel."""
    run = a_finished_run(
        cluster=a_cluster(name=f"{CANARY}-cluster", host=f"{CANARY}.example"),
        name=f"{CANARY} name",
        database=f"{CANARY}db",
        role=f"{CANARY}role",
        target_label=f"{CANARY}.example/shop",
        note=f"password={CANARY}",
        error=f"connection to {CANARY} failed",
        reasons=[f"{CANARY} reason"],
        command=["pgbench", "-h", f"{CANARY}.example", f"postgresql://app:{CANARY}@h/d"],
        statements=[{"statement": f"SELECT * FROM people WHERE email = '{CANARY}'", "latency_ms": 1.0}],
        options={"clients": 8, "scripts": [{"text": f"SELECT '{CANARY}'", "weight": 1}], "scale": CANARY},
        evidence={"server": {"settings": {"a": {"value": CANARY}}}, "generator": {"host": CANARY}},
        conditions={"note": CANARY},
        client_version=CANARY,
        server_version=CANARY,
        generator=CANARY,
    )
    RunOutput.objects.update_or_create(run=run, defaults={"stdout": CANARY, "stderr": CANARY})
    return run


def test_the_page_of_a_run_shows_figures_and_nothing_that_was_planted():
    run = a_telling_run()
    answer = Client().get(link_to(run))
    page = page_of(answer)
    assert CANARY not in page
    assert f"Run {run.number}, pgbench" in page
    assert "<svg" in page
    assert '<code>clients</code></td><td class="number">8</td>' in page
    assert "<nav" not in page
    assert 'href="/' not in page.replace('href="/static/', "")


def test_the_canary_is_seen_where_it_is_shown():
    run = a_telling_run()
    assert CANARY in page_of(in_browser().get(f"/runs/{run.pk}/"))


def test_the_page_of_an_experiment_shows_its_arms_without_their_runs():
    experiment = a_measured_experiment(FIGURES, cluster_name=CANARY)
    Run.objects.update(error=CANARY, command=[CANARY], note=CANARY)
    page = page_of(Client().get(link_to(experiment)))
    assert CANARY not in page
    assert f"Experiment {experiment.number}" in page
    assert [page.count(f">{tps}<") > 0 for tps in (100, 200, 98)] == [True] * 3


def test_it_is_neither_kept_nor_indexed_nor_named_to_other_sites():
    answer = Client().get(link_to(a_finished_run()))
    names = ("Referrer-Policy", "X-Robots-Tag", "Cache-Control")
    assert [answer[name] for name in names] == ["no-referrer", "noindex, nofollow", "no-store"]


def test_each_opening_is_counted():
    path = link_to(a_finished_run())
    for _ in range(2):
        Client().get(path)
    Client().head(path)
    link = SharedLink.objects.get()
    assert (link.opened, link.last_opened_at is not None) == (2, True)


@pytest.mark.parametrize("ended", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}])
def test_a_link_that_has_ended_says_so_and_shows_nothing(ended):
    run = a_finished_run()
    path = link_to(run)
    SharedLink.objects.update(**ended)
    answer = Client().get(path)
    assert answer.status_code == 410
    assert "It has expired or was revoked" in page_of(answer)
    assert f"Run {run.number}" not in page_of(answer)
    assert SharedLink.objects.get().opened == 0


def test_an_unknown_link_is_not_found():
    assert Client().get("/shared/unknown/").status_code == 404


def test_it_is_made_with_seven_days_shown_once_and_stored_as_a_digest():
    run, browser = a_finished_run(), in_browser()
    made = browser.post(f"/runs/{run.pk}/links/", {"lifetime_days": "7"})
    address = re.search(r'value="([^"]+/shared/[^"]+)"', made.content.decode())[1]
    token = address.split("/")[-2]
    link = SharedLink.objects.get()
    assert (link.expires_at - link.created_at).days in (6, 7)
    assert token not in str(SharedLink.objects.values().get())
    assert token not in browser.get(f"/runs/{run.pk}/links/").content.decode()
    assert Client().get(path_of(address)).status_code == 200
    assert '<option value="7" selected>' in page_of(browser.get(f"/runs/{run.pk}/links/"))


@pytest.mark.django_db(transaction=True)
def test_making_and_revoking_stand_in_the_trail_without_the_token():
    run, browser = a_finished_run(), in_browser()
    made = browser.post(f"/runs/{run.pk}/links/", {"lifetime_days": "7"})
    token = re.search(r"/shared/([\w-]+)/", made.content.decode())[1]
    link = SharedLink.objects.get()
    assert browser.post(f"/links/{link.pk}/revoke/").headers["Location"] == f"/runs/{run.pk}/links/"
    entries = Entry.objects.filter(object_id=str(link.pk)).order_by("number")
    assert [one.action for one in entries] == ["shared_link.create", "shared_link.revoke"]
    assert not [one for one in Entry.objects.all() if token in str(vars(one))]
    assert Client().get(f"/shared/{token}/").status_code == 410


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER])
def test_operators_make_them_and_nobody_below(role):
    run = a_finished_run()
    link_to(run)
    browser = in_browser(role)
    assert browser.get(f"/runs/{run.pk}/links/").status_code == 403
    assert browser.post(f"/runs/{run.pk}/links/", {"lifetime_days": "7"}).status_code == 403
    assert browser.post(f"/links/{SharedLink.objects.get().pk}/revoke/").status_code == 403
    assert in_browser(Role.OPERATOR).post(f"/runs/{run.pk}/links/", {"lifetime_days": "7"}).status_code == 200


def test_operators_of_another_team_do_not_find_them():
    run = a_finished_run(cluster=a_cluster())
    link_to(run)
    user = person(staff=False)
    Membership.objects.filter(user=user).delete()
    Membership.objects.create(team=Team.objects.create(name="Payments"), user=user, role=Role.OWNER)
    browser = Client()
    browser.force_login(user)
    assert browser.get(f"/runs/{run.pk}/links/").status_code == 404
    assert browser.post(f"/links/{SharedLink.objects.get().pk}/revoke/").status_code == 404


def test_a_lifetime_that_is_not_offered_is_refused():
    run = a_finished_run()
    assert in_browser().post(f"/runs/{run.pk}/links/", {"lifetime_days": "9999"}).status_code == 422
    assert not SharedLink.objects.exists()
