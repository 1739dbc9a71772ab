"""Lists name the team and are filtered by it where there are several; with one team they are as they were."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmarks.experiments import library as playbooks
from benchmarks.library.scripts import library as scripts
from benchmarks.models import SettingsProfile
from core.accounts.models import Role, Team
from core.accounts.people import ownership
from pools.models import Host, Pooler
from tests.benchmarks.records import a_finished_run
from tests.callers import person, queries_of
from tests.core.accounts.people.records import a_member, a_team, browser_of
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry

pytestmark = pytest.mark.django_db
LISTS = ("/clusters/", "/poolers/", "/hosts/", "/scripts/", "/settings-profiles/", "/runs/", "/experiments/")


def of_each_kind(team: Team, mark: str) -> None:
    """Make one record of each kind for the team, with `mark` in its name."""
    cluster, pooler = a_cluster(name=f"c-{mark}"), a_pooler(name=f"p-{mark}")
    for record in (cluster, pooler):
        ownership.place(record, team, [])
    a_finished_run(name=f"r-{mark}", cluster=cluster, pool=a_pool(name=f"pool-{mark}", cluster=cluster, pooler=pooler))
    Host.objects.create(name=f"h-{mark}", address="127.0.0.1", user="x", team=team)
    scripts.create(name=f"s-{mark}", text="SELECT 1;", team=team)
    SettingsProfile.objects.create(name=f"f-{mark}", values={"work_mem": "16MB"}, team=team)
    text = playbooks.built_in()["burst"].text.replace('name = "burst"', f'name = "b-{mark}"', 1)
    title = re.search(r'title = "([^"]*)"', text)
    assert title
    playbooks.add(text.replace(title[1], f"b-{mark}", 1), is_admin=True, team=team)


@pytest.fixture
def teams(db: None) -> tuple[Team, Team]:
    first, second = a_team("Payments"), a_team("Fraud")
    of_each_kind(first, "one")
    of_each_kind(second, "two")
    return first, second


def an_owner(*teams: Team) -> User:
    user = a_member(teams[0], "ann", Role.OWNER)
    for team in teams[1:]:
        team.memberships.create(user=user, role=Role.OWNER)
    return user


def main_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode().partition("<main")[2]


def marks_of(page: str) -> set[str]:
    return set(re.findall(r"\b[cphsfrb]-(one|two)\b", page))


@pytest.mark.parametrize("address", LISTS)
def test_a_list_names_the_teams_and_shows_one(address: str, teams: tuple[Team, Team]) -> None:
    ann = browser_of(an_owner(*teams))
    page = main_of(ann, address)
    assert marks_of(page) == {"one", "two"}
    assert [len(re.findall(rf"pd-sub\"\s*>{team}<", page)) >= 1 for team in teams] == [True, True]
    assert re.findall(r'<option\s+value="[^"]*"\s*(selected)?\s*>\s*(Payments|Fraud)\s*<', page) == [
        ("", "Fraud"),
        ("", "Payments"),
    ]
    one = main_of(ann, f"{address}?team={teams[0].pk}")
    assert marks_of(one) == {"one"}
    assert ("selected", "Payments") in re.findall(
        r'<option\s+value="[^"]*"\s*(selected)?\s*>\s*(Payments|Fraud)\s*<', one
    )


@pytest.mark.parametrize("address", [*LISTS, "/"])
def test_with_one_team_no_list_names_it(address: str) -> None:
    of_each_kind(Team.objects.get(), "one")
    page = main_of(browser_of(person("boss")), address)
    assert ("filter-team" in page, "Default" in page) == (False, False)


@pytest.mark.parametrize("address", [*LISTS, "/"])
def test_a_team_out_of_sight_is_no_choice_and_filters_nothing_away_but_its_own(
    address: str, teams: tuple[Team, Team]
) -> None:
    ann = browser_of(an_owner(teams[0]))
    page = main_of(ann, f"{address}?team={teams[1].pk}")
    assert ("Fraud" in page, marks_of(page) - {"one"}) == (False, set())


def an_option(team: str) -> str:
    return rf'<option\s+value="[^"]*"\s*selected\s*>\s*{team}\s*<'


def rows_of(page: str) -> set[str]:
    return set(re.findall(r">(?:pool|entry)-(one|two)<", page))


@pytest.mark.parametrize("address", ["/pools/", "/entries/"])
def test_pools_and_entries_are_those_of_a_team(address: str, teams: tuple[Team, Team]) -> None:
    for mark in ("one", "two"):
        an_entry(name=f"entry-{mark}", pooler=Pooler.objects.get(name=f"p-{mark}"))
    ann = browser_of(an_owner(*teams))
    page = main_of(ann, address)
    assert rows_of(page) == {"one", "two"}
    assert [len(re.findall(rf"pd-sub\"\s*>{team}<", page)) >= 1 for team in teams] == [True, True]
    one = main_of(ann, f"{address}?team={teams[0].pk}")
    assert (rows_of(one), bool(re.search(an_option("Payments"), one))) == ({"one"}, True)
    polled = ann.get(f"{address}?team={teams[1].pk}", headers={"HX-Request": "true"}).content.decode()
    assert rows_of(polled) == {"two"}
    alone = browser_of(a_member(teams[0], "joe", Role.OWNER))
    page = main_of(alone, f"{address}?team={teams[1].pk}")
    assert ("filter-team" in page, "Fraud" in page, rows_of(page)) == (False, False, {"one"})


@pytest.mark.parametrize("address", ["/pools/", "/entries/"])
def test_pools_and_entries_take_as_many_queries_with_more_rows(address: str, teams: tuple[Team, Team]) -> None:
    ann = browser_of(an_owner(*teams))
    an_entry(name="entry-one", pooler=Pooler.objects.get(name="p-one"))
    before = queries_of(ann, address)
    of_each_kind(teams[0], "three")
    of_each_kind(teams[1], "four")
    an_entry(name="entry-two", pooler=Pooler.objects.get(name="p-two"))
    assert queries_of(ann, address) == before


def test_the_dashboard_is_of_a_team(teams: tuple[Team, Team]) -> None:
    admin = browser_of(person("boss"))
    assert marks_of(main_of(admin, "/")) == {"one", "two"}
    page = main_of(admin, f"/?team={teams[1].pk}")
    assert marks_of(page) == {"two"}
    live: Any = admin.get(f"/live/?team={teams[1].pk}").content.decode()
    assert ("pool-two" in live, "pool-one" in live) == (True, False)


@pytest.mark.parametrize("address", LISTS)
def test_a_list_takes_as_many_queries_with_more_rows(address: str, teams: tuple[Team, Team]) -> None:
    ann = browser_of(an_owner(*teams))
    before = queries_of(ann, address)
    of_each_kind(teams[0], "three")
    of_each_kind(teams[1], "four")
    assert queries_of(ann, address) == before
