"""Which settings profiles a run may put in force."""

from contextlib import ExitStack
from typing import cast

import pytest
from django.contrib.auth.models import User

from benchmarks.errors import Refused
from benchmarks.models import Run, SettingsProfile
from benchmarks.runs.setup import connection_headroom, settings_profile
from benchmarks.runs.setup.base import SetupContext
from core.accounts.access import Access
from core.accounts.models import ApiToken, Role, Team
from tests.benchmarks.records import a_run
from tests.callers import person
from tests.core.accounts.people.records import a_member, a_team
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def payments() -> Team:
    return a_team("Payments")


@pytest.fixture
def orders() -> Team:
    return a_team("Orders")


def a_profile(team: Team, **fields: object) -> SettingsProfile:
    return SettingsProfile.objects.create(**{"name": "tuned", "values": {"work_mem": "16MB"}} | fields, team=team)


def of(team: Team, author: User | None = None) -> Run:
    """A run on a cluster of the team, with a profile."""
    return a_run(cluster=a_cluster(team=team), author=author, options={"settings_profile": "tuned"})


def usable(run: Run) -> list[SettingsProfile]:
    return list(SettingsProfile.objects.usable_in(run))


def test_a_run_uses_the_profiles_of_its_team_and_those_shared_with_it(payments, orders):
    own, shared, _other = a_profile(payments), a_profile(orders, name="lent"), a_profile(orders, name="theirs")
    shared.shared_with.add(payments)
    assert usable(of(payments)) == [shared, own]


def test_and_those_that_whoever_started_it_sees(payments, orders):
    """Who is a member of two teams may run with the profile of the one on the cluster of the other."""
    profile = a_profile(orders)
    ann, bob = a_member(payments, "ann", Role.OPERATOR), a_member(payments, "bob", Role.OPERATOR)
    ann.memberships.create(team=orders, role=Role.VIEWER)
    assert usable(of(payments, ann)) == [profile]
    assert usable(of(payments, bob)) == []
    assert usable(of(payments, person("root"))) == [profile]


def test_a_token_of_a_team_has_the_profiles_of_that_team(payments, orders):
    profile = a_profile(orders)
    ApiToken.objects.issue_for_team(orders, Role.OPERATOR, person("maker"), "ci", ["run"])
    account = ApiToken.objects.get(team=orders).user
    assert usable(of(payments, account)) == [profile]
    ApiToken.objects.issue_for_team(payments, Role.OPERATOR, person("another"), "ci", ["run"])
    assert usable(of(payments, ApiToken.objects.get(team=payments).user)) == []


def test_a_name_that_another_team_took_while_the_run_waited_is_not_put_in_force(payments, orders):
    """The profile that was checked is gone, and another team has made one of its name."""
    run = of(payments, a_member(payments, "ann", Role.OPERATOR))
    a_profile(orders, values={"fsync": "off"})
    context = cast("SetupContext", type("Context", (), {"run": run}))
    with pytest.raises(Refused, match="there is no settings profile 'tuned' any more"), ExitStack() as stack:
        stack.enter_context(settings_profile.in_force(context))


def test_the_limits_of_another_teams_profile_are_not_told(payments, orders):
    a_profile(orders, values={"max_connections": "7"})
    ann = Access(a_member(payments, "ann", Role.OPERATOR))
    assert connection_headroom._of_profile({"settings_profile": "tuned"}, ann) == {}
    assert connection_headroom._of_profile({"settings_profile": "tuned"}, None) == {"max_connections": 7}
