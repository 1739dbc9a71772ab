"""Who may see and do what: roles in teams, what is shared, scopes of tokens, and the table of operations."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.template import Context, Template
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from core.accounts import operations
from core.accounts.access import Access, find, needs
from core.accounts.in_templates import May
from core.accounts.models import FIRST_TEAM, ApiToken, Membership, Role, Scope, Team, digest
from core.accounts.operations import Audience, Operation, UnknownOperation
from pools.models import Cluster, Event, Pool, Pooler
from tests.callers import person

pytestmark = pytest.mark.django_db
TEMPLATES = Path(__file__).parents[3] / "templates"


def member(role: Role, *teams: Team) -> User:
    """A user with this role in these teams and no other."""
    user = person(staff=False)
    Membership.objects.filter(user=user).delete()
    for team in teams:
        Membership.objects.create(team=team, user=user, role=role)
    return user


def asked(user: object, method: str = "get") -> HttpRequest:
    request = getattr(RequestFactory(), method)("/")
    request.user = user
    return request


def cluster(name: str, team: Team | None = None) -> Cluster:
    return Cluster.objects.create(name=name, host="h", admin_user="a", **({"team": team} if team else {}))


def pooler(name: str, team: Team | None = None) -> Pooler:
    return Pooler.objects.create(name=name, host="h", **({"team": team} if team else {}))


@pytest.fixture
def first() -> Team:
    return Team.objects.get(pk=FIRST_TEAM)


@pytest.fixture
def second() -> Team:
    return Team.objects.create(name="Payments")


def test_a_new_user_is_a_viewer_of_the_only_team(first):
    user = person(staff=False)
    assert list(user.memberships.values_list("team", "role")) == [(first.pk, "viewer")]


def test_a_new_user_is_in_no_team_where_there_are_several(second):
    assert not person(staff=False).memberships.exists()


def test_members_of_the_only_team_see_all_by_the_same_query():
    rows = Cluster.objects.all()
    assert Access(person(staff=False)).visible(rows) is rows


def test_administrators_see_all_without_a_query_of_their_own(second):
    rows, access = Cluster.objects.all(), Access(person())
    with CaptureQueriesContext(connection) as queries:
        assert access.visible(rows) is rows
        assert access.may("cluster.change")
    assert len(queries) == 0


@pytest.mark.parametrize("role", Role)
def test_each_operation_takes_its_role(first, second, role):
    access, own, others = Access(member(role, second)), cluster("own", second), cluster("others", first)
    for operation in operations.registered():
        if isinstance(operation.role, Role) and not operation.eased_role:
            allowed = role.includes(operation.role)
            assert access.may(operation.name) is allowed, operation
            assert access.may(operation.name, own) is allowed, operation
            assert access.may(operation.name, others) is False, operation


@pytest.mark.parametrize("role", Role)
def test_roles_of_a_team_are_no_rights_over_the_installation(second, role):
    access = Access(member(role, second))
    assert [one.name for one in operations.registered() if one.role is Audience.ADMINS and access.may(one.name)] == []


def test_strangers_see_nothing():
    cluster("one")
    access = Access(AnonymousUser())
    assert list(access.visible(Cluster.objects.all())) == []
    assert [one.name for one in operations.registered() if access.may(one.name)] == ["public.read", "session.start"]


@pytest.mark.parametrize("scope", Scope)
def test_a_token_limits_what_its_user_may_do(scope):
    user = person()
    token = ApiToken.objects.get(digest=digest(ApiToken.objects.issue(user, "one", [scope])))
    access = Access(user, token)
    for operation in operations.registered():
        assert access.may(operation.name) is (scope in (operation.scope, Scope.ADMIN)), operation


def test_a_team_uses_what_is_shared_with_it_up_to_operator(first, second):
    shared = cluster("shared", first)
    shared.shared_with.add(second)
    access = Access(member(Role.OWNER, second))
    assert list(access.visible(Cluster.objects.all())) == [shared]
    assert access.may("cluster.check", shared)
    assert not access.may("cluster.change", shared)
    assert not access.may("cluster.remove", shared)


def test_a_record_that_is_shared_with_several_teams_of_a_user_is_listed_once(first, second):
    third = Team.objects.create(name="Search")
    shared = cluster("shared", first)
    shared.shared_with.add(second, third)
    assert list(Access(member(Role.VIEWER, second, third)).visible(Cluster.objects.all())) == [shared]


def test_a_pool_is_seen_by_both_its_teams_and_changed_by_who_is_operator_in_both(first, second):
    pool = Pool.objects.create(
        name="app", pooler=pooler("bouncer", first), cluster=cluster("main", second), database="app", size=5
    )
    one, both = Access(member(Role.OPERATOR, second)), Access(member(Role.OPERATOR, first, second))
    assert list(one.visible(Pool.objects.all())) == [pool]
    assert one.may("pool.view", pool)
    assert not one.may("pool.change", pool)
    assert both.may("pool.change", pool)


def test_developers_reveal_the_passwords_of_pools_marked_so(second):
    made = {"pooler": pooler("bouncer", second), "cluster": cluster("main", second), "database": "app", "size": 5}
    marked = Pool.objects.create(name="marked", password_for_developers=True, **made)
    kept = Pool.objects.create(name="kept", **made)
    developer, operator = Access(member(Role.DEVELOPER, second)), Access(member(Role.OPERATOR, second))
    assert [developer.may("pool.reveal", pool) for pool in (marked, kept)] == [True, False]
    assert [operator.may("pool.reveal", pool) for pool in (marked, kept)] == [True, True]


def test_events_are_seen_by_who_sees_what_they_are_about(first, second):
    own, others = cluster("own", second), cluster("others", first)
    for one in (own, others):
        Event.objects.create(
            kind="cluster_down",
            subject_type="cluster",
            subject_id=one.pk,
            subject_name=one.name,
            value=1,
            message="down",
            crossed_at="2026-01-01T00:00:00Z",
        )
    access = Access(member(Role.VIEWER, second))
    seen = access.visible(Event.objects.all())
    assert [event.subject_name for event in seen] == ["own"]
    assert access.may("event.view", seen[0])


def test_the_memberships_are_read_once(first, second):
    rows = [cluster(f"c{number}", second) for number in range(3)]
    access = Access(member(Role.VIEWER, second))
    with CaptureQueriesContext(connection) as queries:
        assert [access.may("cluster.change", row) for row in rows] == [False] * 3
        assert access.has_several_teams
    assert len(queries) == 1


def test_what_is_shared_is_read_once(first, second):
    rows = [cluster(f"c{number}", first) for number in range(3)]
    for row in rows:
        row.shared_with.add(second)
    access = Access(member(Role.OPERATOR, second))
    with CaptureQueriesContext(connection) as queries:
        assert [access.may("cluster.check", row) for row in rows] == [True] * 3
    assert len(queries) == 2


def test_the_records_of_others_are_not_found(first, second):
    request = asked(member(Role.OWNER, second))

    @needs("cluster.view")
    def page(request: HttpRequest, pk: object) -> HttpResponse:
        return HttpResponse(find(request, Cluster.objects.all(), pk=pk).name)

    assert page(request, cluster("own", second).pk).content == b"own"
    with pytest.raises(Http404):
        page(request, cluster("others", first).pk)


def test_a_refusal_names_the_role_and_who_can_give_it(first, second):
    request = asked(member(Role.VIEWER, second), "post")

    @needs("cluster.view", post="cluster.change")
    def page(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    sentence = "this needs the role owner in a team: an owner of the team or an administrator can give it"
    with pytest.raises(PermissionDenied, match=sentence):
        page(request)


def test_a_refusal_on_a_record_names_it_and_its_team(first, second):
    user = member(Role.VIEWER, second)
    Membership.objects.create(team=first, user=user, role=Role.OWNER)

    @needs("cluster.change")
    def page(request: HttpRequest, pk: object) -> HttpResponse:
        return HttpResponse(find(request, Cluster.objects.all(), pk=pk).name)

    sentence = "this needs the role owner for main: an owner of Payments or an administrator can give it to you"
    with pytest.raises(PermissionDenied, match=sentence):
        page(asked(user), cluster("main", second).pk)


def test_a_request_keeps_its_access_and_another_caller_gets_another():
    request = asked(person())
    assert Access.of(request) is Access.of(request)
    before = Access.of(request)
    request.user = person(staff=False)
    assert Access.of(request) is not before


def test_operations_are_unique_and_known_by_name():
    one = Operation("pool.view", "Something else", Role.OWNER, Scope.READ)
    with pytest.raises(ValueError, match=r"there are two operations pool\.view"):
        operations.register(one)
    with pytest.raises(UnknownOperation, match=r"no operation is called pool\.paint"):
        operations.named("pool.paint")


def test_templates_ask_for_an_operation_on_a_record(first, second):
    own, others = cluster("own", second), cluster("others", first)
    text = "{% if may.cluster.change %}some{% endif %} {% if may.cluster.change|on:record %}this{% endif %}"
    context = {"may": May(Access(member(Role.OWNER, second)))}
    assert Template(text).render(Context({**context, "record": own})) == "some this"
    assert Template(text).render(Context({**context, "record": others})) == "some "
    assert Template(text).render(Context({"record": own})) == " "


def test_templates_name_operations_that_there_are():
    names = {one.name for one in operations.registered()}
    asked_for = {
        f"{noun}.{verb}"
        for path in TEMPLATES.rglob("*.html")
        for noun, verb in re.findall(r"\bmay\.(\w+)\.(\w+)", path.read_text())
    }
    assert asked_for <= names


def test_no_template_decides_by_itself_who_may_do_what():
    asking = re.compile(r"(?<![.\w])(?:request\.)?user\.(?:is_staff|is_superuser|memberships|has_perm)\b")
    assert [path.name for path in TEMPLATES.rglob("*.html") if asking.search(path.read_text())] == []
