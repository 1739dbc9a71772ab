"""Read-only links: who makes and revokes them, how they end, and that they show figures and nothing else."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import get_args

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.experiments.report import shared_links
from benchmarks.experiments.report.shared_links import ComparisonOf, Shown
from benchmarks.models import Experiment, Run, RunOutput, SharedLink
from benchmarks.results import comparisons
from core.accounts.models import Membership, Role, Team
from core.audit.models import Entry
from pools.models import Cluster
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


def link_to(shown: Shown) -> str:
    """The path of a new link."""
    return path_of(shared_links.issue(shown, person(), timedelta(days=7))[1])


def a_telling_run() -> Run:
    """A run with a secret or somebody's data wherever a run keeps text that is not chosen by the panel."""
    name = f"{CANARY}-cluster"
    run = a_finished_run(
        cluster=Cluster.objects.filter(name=name).first() or a_cluster(name=name, host=f"{CANARY}.example"),
        name=f"{CANARY} name",
        database=f"{CANARY}db",
        role=f"{CANARY}role",
        target_label=f"{CANARY}.example/shop",
        note=f"password={CANARY}",
        error=f"connection to {CANARY} failed",
        reasons=[f"{CANARY} reason"],
        command=["pgbench", "-h", f"{CANARY}.example", f"postgresql://app:{CANARY}@h/d"],
        statements=[{"statement": f"SELECT * FROM people WHERE email = '{CANARY}'", "latency_ms": 1.0}],
        options={
            "clients": 8,
            "scripts": [{"name": CANARY, "version": 1, "text": f"SELECT '{CANARY}'", "weight": 1}],
            "scale": CANARY,
        },
        evidence={"server": {"settings": {"a": {"value": CANARY}}}, "generator": {"host": CANARY}},
        conditions={"note": CANARY},
        client_version=CANARY,
        server_version=CANARY,
        generator=CANARY,
    )
    RunOutput.objects.update_or_create(run=run, defaults={"stdout": CANARY, "stderr": CANARY})
    return run


def two_telling_runs() -> ComparisonOf:
    """Runs with something planted wherever they keep text, that differ in clients, in a script and in their target."""
    one, other = a_telling_run(), a_telling_run()
    other.options |= {
        "clients": 16,
        "scripts": [{"name": "", "version": 1, "text": f"SELECT '{CANARY}-2'", "weight": 1}],
    }
    other.target_label, other.pooled_by = f"{CANARY}-2.example/shop", CANARY
    other.pooled = True
    other.save()
    return ComparisonOf([one, other])


def an_experiment_of_telling_runs() -> Experiment:
    experiment = a_measured_experiment(FIGURES, cluster_name=CANARY, reasons=[CANARY])
    Run.objects.update(error=CANARY, command=[CANARY], note=CANARY, target_label=CANARY, database=CANARY)
    RunOutput.objects.update(stdout=CANARY, stderr=CANARY)
    return experiment


KINDS: dict[str, Callable[[], Shown]] = {
    "run": lambda: a_telling_run(),
    "comparison": two_telling_runs,
    "experiment": an_experiment_of_telling_runs,
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_page_shows_a_password_a_statement_or_a_name(kind):
    answer = Client().get(link_to(KINDS[kind]()))
    page = page_of(answer)
    assert answer.status_code == 200
    assert CANARY not in page
    assert "<nav" not in page
    assert 'href="/' not in page.replace('href="/static/', "")


def test_each_kind_that_a_link_can_show_is_among_those_looked_at():
    assert {type(make()) for make in KINDS.values()} == set(get_args(Shown))


def test_the_page_of_a_comparison_shows_its_arms_by_kind_and_what_differs():
    shown = two_telling_runs()
    page = page_of(Client().get(link_to(shown)))
    one, other = (run.number for run in shown.runs)
    assert f"<h1>Comparison of runs {one}, {other}</h1>" in page
    assert "<td>direct, clients 8</td>" in page
    assert "<td>pooled, clients 16</td>" in page
    assert "<svg" in page


def test_arms_that_nothing_shown_tells_apart_are_told_apart_by_their_runs():
    one, other = a_telling_run(), a_telling_run()
    Run.objects.filter(pk=other.pk).update(target_label="elsewhere")
    page = page_of(Client().get(link_to(ComparisonOf([one, other]))))
    assert [page.count(f"<td>direct (run {run.number})</td>") for run in (one, other)] == [1, 1]


def test_a_comparison_of_which_one_run_is_left_has_ended():
    shown = two_telling_runs()
    path = link_to(shown)
    shown.runs[1].delete()
    assert Client().get(path).status_code == 410


def test_a_comparison_goes_on_without_the_runs_of_its_baseline():
    one, other, third = a_finished_run(), a_finished_run(), a_finished_run()
    for number, run in enumerate((one, other, third)):
        Run.objects.filter(pk=run.pk).update(target_label=f"target-{number}")
    key = comparisons.compare(list(Run.objects.order_by("number"))).arms[2].key
    path = link_to(ComparisonOf([one, other, third], key))
    third.delete()
    assert f"Comparison of runs {one.number}, {other.number}" in page_of(Client().get(path))


def test_a_comparison_is_shared_from_its_page_and_listed_with_its_first_run():
    shown, browser = two_telling_runs(), in_browser()
    query = "&".join(f"run={run.pk}" for run in shown.runs)
    assert f"/runs/compare/links/?{query}".replace("&", "&amp;") in page_of(browser.get(f"/runs/compare/?{query}"))
    made = browser.post(f"/runs/compare/links/?{query}", {"lifetime_days": "7"})
    path = path_of(re.search(r'value="([^"]+/shared/[^"]+)"', made.content.decode())[1])
    assert Client().get(path).status_code == 200
    link, words = SharedLink.objects.get(), "comparison of runs " + ", ".join(str(run.number) for run in shown.runs)
    assert link.comparison == shown.stored
    assert words in page_of(browser.get(f"/runs/{shown.runs[0].pk}/links/"))
    assert f"/links/{link.pk}/revoke/" in page_of(browser.get(f"/runs/compare/links/?{query}"))
    revoked = browser.post(f"/links/{link.pk}/revoke/")
    assert revoked.headers["Location"] == f"/runs/compare/links/?{query}&baseline="
    assert "revoked" in page_of(browser.get(revoked.headers["Location"]))
    assert Client().get(path).status_code == 410


def test_who_may_not_share_each_of_its_runs_shares_no_comparison():
    theirs = Team.objects.create(name="Payments")
    runs = [a_finished_run(cluster=a_cluster()), a_finished_run(cluster=a_cluster(team=theirs))]
    query = "&".join(f"run={run.pk}" for run in runs)
    user = person(staff=False)
    Membership.objects.filter(user=user).delete()
    Membership.objects.create(team=Team.objects.exclude(pk=theirs.pk).get(), user=user, role=Role.OWNER)
    Membership.objects.create(team=theirs, user=user, role=Role.VIEWER)
    browser = Client()
    browser.force_login(user)
    assert "/runs/compare/links/" not in page_of(browser.get(f"/runs/compare/?{query}"))
    assert browser.post(f"/runs/compare/links/?{query}", {"lifetime_days": "7"}).status_code == 403
    assert browser.get("/runs/compare/links/").headers["Location"] == "/runs/compare/"
    assert not SharedLink.objects.exists()


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
