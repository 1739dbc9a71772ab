"""The pages of databases and roles against a real server."""

from collections.abc import Iterator
from html import unescape
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from psycopg import sql

from panel.quickstart.servers import PostgresServer
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.callers import person
from tests.pages import page_of
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db

ODD = 'o"dd/<b>& 100%'
LEFT = (ODD, "shop", "till", "two words")


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(person())
    return client


@pytest.fixture
def url(cluster: Cluster, postgres: PostgresServer) -> Iterator[str]:
    """The address of the cluster; what a test leaves behind is gone in the end."""
    yield f"/clusters/{cluster.pk}/"
    with postgres.connect("app") as session:
        for name in LEFT:
            session.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        there = {role for (role,) in session.execute("SELECT rolname FROM pg_roles").fetchall()}
        for name in there.intersection(LEFT):
            session.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
            session.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def read(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return unescape(page_of(answer))


def test_a_database_is_made_changed_and_dropped_by_its_typed_name(staff: Client, url: str, cluster: Cluster) -> None:
    form = read(staff, f"{url}databases/new/?name=two+words")
    assert 'value="two words"' in form
    assert '<option value="app">' in form  # the owners to choose from
    made = staff.post(
        f"{url}databases/new/", {"name": "two words", "owner": "app", "connection_limit": "9"}, follow=True
    )
    page = unescape(page_of(made))
    assert "Database two words was created; app owns it." in page
    assert "0 of 9" in page
    edit, drop = f"{url}databases/edit/?name=two%20words", f"{url}databases/drop/?name=two%20words"
    assert f'href="{edit}"' in page
    assert staff.post(edit, {"owner": "postgres", "connection_limit": ""}).status_code == 302
    asked = read(staff, drop)
    assert "This can’t be undone" in asked
    assert "owned by postgres" in asked
    wrong = unescape(page_of(staff.post(drop, {"name": "two word"})))
    assert "“two word” is not the name “two words”: nothing was removed" in wrong
    dropped = staff.post(drop, {"name": "two words"}, follow=True)
    assert "Database two words was dropped." in page_of(dropped)
    assert staff.get(drop).status_code == 404
    assert "two words" not in [one["name"] for one in Cluster.objects.get().status.databases]


def test_a_name_that_is_taken_is_told_beside_it_and_all_that_was_typed_stays(staff: Client, url: str) -> None:
    answer = staff.post(f"{url}databases/new/", {"name": "app", "owner": "app", "connection_limit": "9"})
    assert answer.context["form"].errors == {
        "name": ['database "app" already exists on cluster live: choose another name']
    }
    page = page_of(answer)
    assert 'value="9"' in page
    assert '<option value="app" selected>' in page


def test_a_password_is_shown_once_and_stands_in_no_page_after(
    staff: Client, url: str, cluster: Cluster, pooler: Pooler
) -> None:
    typed = {"name": "till", "can_login": "on", "database": "app", "access": "read", "connection_limit": ""}
    made = staff.post(f"{url}roles/new/", typed)
    assert (made.status_code, "no-store" in made.headers["Cache-Control"]) == (200, True)
    canary = made.context["password"]
    assert page_of(made).count(canary) == 2  # The page has it twice: as text, and for the button that copies it.
    pool = Pool.objects.create(
        name="till", pooler=pooler, cluster=cluster, database="app", user="till", size=1, state=PoolState.APPLIED
    )
    role = "roles/{}/?name=till"
    places = [url, f"{url}roles/", f"{url}databases/", *(url + role.format(verb) for verb in ("edit", "drop"))]
    places += [f"/pools/{pool.pk}/", f"/pools/{pool.pk}/edit/", "/pools/", "/", f"{url}{role.format('reset-password')}"]
    assert [place for place in places if canary in read(staff, place)] == []
    reset = staff.post(f"{url}{role.format('reset-password')}")
    assert (reset.status_code, "no-store" in reset.headers["Cache-Control"]) == (200, True)
    second = reset.context["password"]
    assert second != canary
    assert "1 pool logs in as this role and is being applied with the new password" in page_of(reset)
    pool.refresh_from_db()
    assert pool.state == PoolState.PENDING
    assert [place for place in places if second in read(staff, place)] == []


def test_a_role_is_changed_and_dropped_by_its_typed_name(staff: Client, url: str, cluster: Cluster) -> None:
    staff.post(f"{url}roles/new/", {"name": ODD, "can_login": "on", "access": "connect"})
    assert cluster.password_of(ODD) is None  # a slash is refused
    staff.post(f"{url}roles/new/", {"name": "two words", "can_login": "on", "access": "connect"})
    edit = f"{url}roles/edit/?name=two+words"
    changed = staff.post(
        edit, {"connection_limit": "4", "valid_until": "2040-01-31 18:00", "can_login": "on"}, follow=True
    )
    page = unescape(page_of(changed))
    assert "Role two words was changed." in page
    assert "0 of 4" in page
    assert "password valid until 2040-01-31 18:00 UTC" in page
    assert 'value="2040-01-31 18:00' in read(staff, edit)
    drop = f"{url}roles/drop/?name=two+words"
    assert "No table or database is deleted" in read(staff, drop)
    assert staff.post(drop, {"name": "two words"}, follow=True).status_code == 200
    assert staff.get(drop).status_code == 404


def test_names_that_the_panel_would_not_make_are_shown_and_dropped_all_the_same(
    staff: Client, url: str, postgres: PostgresServer
) -> None:
    with postgres.connect() as session:
        session.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(ODD)))
        session.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(ODD)))
    for what in ("databases", "roles"):
        listed = page_of(staff.get(f"{url}{what}/"))
        drop = f"{url}{what}/drop/?name={quote(ODD, safe='')}"
        assert f'href="{drop}"' in listed
        assert "<b>" not in listed
        assert staff.post(drop, {"name": ODD}).status_code == 302
        assert staff.get(drop).status_code == 404


def test_what_stands_in_the_way_is_shown_with_its_link_instead_of_the_form(
    staff: Client, url: str, cluster: Cluster, pooler: Pooler, postgres: PostgresServer
) -> None:
    pool = Pool.objects.create(name="till", pooler=pooler, cluster=cluster, database="app", user="app", size=1)
    with postgres.connect("app"):
        for what, does in (("databases", "leads there"), ("roles", "logs in with it")):
            page = read(staff, f"{url}{what}/drop/?name=app")
            assert f'<a href="/pools/{pool.pk}/">pool till on pooler live-pgbouncer {does}</a>' in page
            assert 'name="name"' not in page
            answer = staff.post(f"{url}{what}/drop/?name=app", {"name": "app"})
            assert answer.status_code == 409
            assert f"pool till on pooler live-pgbouncer {does}" in page_of(answer)
        assert "1 session of 'postgres' in 'app'" in read(staff, f"{url}databases/drop/?name=app")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("databases/drop/?name=postgres", "maintenance database on cluster live"),
        ("databases/drop/?name=template1", "is a template"),
        ("roles/drop/?name=postgres", "is the panel's own login"),
        ("roles/edit/?name=postgres", "is the panel's own login"),
        ("roles/reset-password/?name=postgres", "is the panel's own login"),
    ],
)
def test_what_the_panel_leaves_alone_is_said_before_anybody_tries(
    staff: Client, url: str, page: str, words: str
) -> None:
    assert words in read(staff, f"{url}{page}")
    answer = staff.post(f"{url}{page}", {"name": page.rpartition("=")[2]})
    assert words in unescape(page_of(answer))


def test_lists_are_searched_and_paged(staff: Client, url: str) -> None:
    page = read(staff, f"{url}databases/?q=PP")
    assert '<span class="pd-name">app</span>' in page
    assert '<span class="pd-name">postgres</span>' not in page
    assert "No database matches" in read(staff, f"{url}databases/?q=nothing")
    assert "No role matches" in read(staff, f"{url}roles/?q=nothing")


@pytest.mark.parametrize("what", ["databases", "roles"])
def test_the_queries_of_a_list_do_not_grow_with_its_pools(staff: Client, url: str, cluster: Cluster, what: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            read(staff, f"{url}{what}/")
        return len(captured)

    a_pool(cluster=cluster, database="app", user="app")
    read(staff, url)  # the first page of a session notes its browser
    once = queries()
    a_pool(cluster=cluster, database="app", user="app"), a_pool(cluster=cluster, database="postgres", user="postgres")
    assert queries() == once
