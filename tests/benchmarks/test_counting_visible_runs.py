"""Runs that a caller sees are counted part by part, and as many as a list of them has."""

import pytest
from django.contrib.auth.models import User
from django.db.models import Count, Q
from pytest_django import DjangoAssertNumQueries

from benchmarks.models import ExternalEndpoint, Run, Tag
from core.accounts.access import Access
from core.accounts.models import Membership, Role, Team
from core.lib.long_lists import LongList
from tests.benchmarks.records import a_run
from tests.callers import person
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> User:
    """A member of a team, with runs of what it has, of what is shared with it, of the team alone, and of others."""
    ours, theirs = Team.objects.create(name="Payments"), Team.objects.create(name="Search")
    user = person(staff=False)
    Membership.objects.filter(user=user).delete()
    Membership.objects.create(team=ours, user=user, role=Role.VIEWER)
    tag = Tag.objects.create(name="nightly")
    for team in (ours, theirs):
        cluster, shared = a_cluster(team=team), a_cluster(team=theirs)
        shared.shared_with.add(team)
        endpoint = ExternalEndpoint.objects.create(
            name=f"proxy of {team.name}", team=team, host="proxy", port=6432, database="shop", user="app"
        )
        for target in ({"cluster": cluster}, {"cluster": shared}, {"external": endpoint}, {}):
            a_run(team=team, **target).tags.add(tag)
        a_run(team=team, external=endpoint, cluster=cluster, name="both")
        a_run(team=team, cluster=cluster, name="of the cluster")
    return user


def test_they_are_as_many_as_their_list_has(caller: User) -> None:
    seen = Access(caller).visible(Run.objects.all())
    assert seen.count() == len(seen) == 6
    assert seen.filter(cluster=None).count() == 2
    assert seen.filter(tags__name="nightly").count() == 4
    assert seen.exclude(name="").count() == 2
    assert seen.filter(Q(name="both") | Q(cluster=None, external=None)).count() == 2
    assert LongList(seen.top_level().order_by("-number"), 4).num_pages == 2


def test_rows_that_are_cut_grouped_or_told_apart_are_counted_whole(caller: User) -> None:
    seen = Access(caller).visible(Run.objects.order_by())
    assert seen[:4].count() == 4
    assert seen.values("team").distinct().count() == 1
    assert seen.values("team").annotate(runs=Count("pk")).count() == 1


def test_administrators_and_members_of_the_only_team_count_all_at_once(
    caller: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    seen = Access(person()).visible(Run.objects.all())
    with django_assert_num_queries(1):
        assert seen.count() == 12
