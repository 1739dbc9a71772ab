"""Entries carry the team of their object, so that its owners find them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Model

from core.accounts.models import FIRST_TEAM, Membership, Role, Team
from core.audit.acts import record_reveal, subject_with
from core.audit.models import Entry
from tests.benchmarks.experiments.records import an_experiment
from tests.benchmarks.records import a_run
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry

pytestmark = pytest.mark.django_db(transaction=True)


def the_team() -> Team:
    return Team.objects.create(name="payments")


def newest() -> Entry:
    return Entry.objects.order_by("-number")[0]


@pytest.mark.parametrize("make", [a_cluster, a_pooler])
def test_a_record_of_a_team(make: Callable[..., Model]) -> None:
    team = the_team()
    record: Any = make(team=team)
    assert newest().team_id == team.pk
    record.delete()
    assert (newest().action.rpartition(".")[2], newest().team_id) == ("delete", team.pk)


def test_a_pool_is_its_clusters() -> None:
    team = the_team()
    a_pool(cluster=a_cluster(team=team))
    assert (newest().action, newest().team_id) == ("pool.create", team.pk)


def test_a_run_is_its_clusters_and_without_one_its_own_teams() -> None:
    team = the_team()
    a_run(cluster=a_cluster(team=team))
    assert newest().team_id == team.pk
    a_run(cluster=None, team=team)
    assert newest().team_id == team.pk


def test_an_experiment_is_its_clusters() -> None:
    team = the_team()
    an_experiment(cluster=a_cluster(team=team))
    assert newest().team_id == team.pk


def test_a_change_of_members_is_the_teams() -> None:
    team = the_team()
    assert newest().team_id == team.pk
    Membership.objects.create(team=team, user=User.objects.create_user("anna"), role=Role.OWNER)
    assert (newest().action, newest().team_id) == ("team.add_member", team.pk)


def test_people_and_tokens_have_none() -> None:
    User.objects.create_user("anna")
    person = Entry.objects.filter(action="person.create").get()
    assert person.team_id is None


def test_a_shown_secret_is_of_the_team_that_its_record_belongs_to() -> None:
    record_reveal(an_entry(pooler=a_pooler(team=the_team())), "page")
    assert newest().team_id == Team.objects.get(name="payments").pk


def test_a_record_is_found_by_its_kind_and_id() -> None:
    pooler = a_pooler(name="edge")
    found = subject_with("pooler", str(pooler.pk))
    assert (found.name, found.team_id) == ("edge", FIRST_TEAM)
    assert subject_with("pooler", "orders").name == ""
    assert subject_with("weather", "1").kind == "weather"
