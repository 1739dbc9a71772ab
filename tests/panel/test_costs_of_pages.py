"""What keeps pages of many rows cheap, counted and not timed: columns that are read, texts and templates."""

from unittest import mock

import pytest
from django.db import connection
from django.template import Context, Template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from core.accounts.access import Access
from panel.state_labels import STATES
from pools.approvals import requests
from pools.models import Cluster, ClusterState, Pool, Pooler, PoolState
from tests import callers
from tests.benchmarks.records import a_finished_run
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_cluster, a_pool, a_pooler, checked

pytestmark = pytest.mark.django_db

# Columns that no row of a list shows, and that hold much or are read into objects.
WIDE = {
    "/pools/": ["pools_pooler.facts", "pools_pooler.settings", "pools_cluster.sealed_admin_password"],
    "/clusters/": ["pools_clusterstatus.databases", "pools_clusterstatus.roles", "pools_pooler.processes"],
    "/runs/": ["benchmarks_run.conditions", "benchmarks_run.evidence", "pools_pool.settings", "pools_pooler.facts"],
    "/clusters/{cluster}/": ["benchmarks_run.evidence", "pools_pooler.facts"],
    "/poolers/{pooler}/": ["pools_pool.settings", "pools_cluster.sealed_admin_password"],
    "/pools/{pool}/": ["benchmarks_run.conditions", "benchmarks_run.evidence"],
    "/": ["pools_clusterstatus.databases", "benchmarks_run.conditions", "benchmarks_run.evidence"],
}


@pytest.fixture
def staff(client: Client) -> Client:
    """A browser in which staff is logged in, of an installation with one of each record."""
    client.force_login(callers.person())
    cluster, pooler = a_cluster(name="orders"), a_pooler(name="edge", port=1)
    checked(cluster)
    a_pool(name="web", cluster=cluster, pooler=pooler, state=PoolState.APPLIED)
    a_finished_run(pool=Pool.objects.get())
    return client


def statements(client: Client, path: str) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as found:
        assert client.get(path).status_code == 200
    return [one["sql"].replace('"', "") for one in found.captured_queries]


@pytest.mark.parametrize("template", WIDE)
def test_a_list_reads_no_column_that_it_does_not_show(staff: Client, template: str) -> None:
    ids = {"cluster": Cluster.objects.get().pk, "pooler": Pooler.objects.get().pk, "pool": Pool.objects.get().pk}
    path = template.format(**ids)
    selects = [sql.partition(" FROM ")[0] for sql in statements(staff, path) if "GROUP BY" not in sql]
    assert [column for column in WIDE[template] if any(column in one for one in selects)] == []


def test_a_label_asks_the_catalog_for_one_text_and_is_that_of_django(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(mode="transaction", state=PoolState.FAILING, auth_method="")
    labels = dict(Pool._meta.get_field("state").flatchoices)
    assert [Pool(state=state).get_state_display() for state in labels] == [str(label) for label in labels.values()]
    assert (pool.get_mode_display(), pool.get_auth_method_display()) == ("Transaction", "")
    assert Pool(state="of a later release").get_state_display() == "of a later release"
    assert Cluster(sslmode=None).get_sslmode_display() is None
    catalog = translation._trans  # type: ignore[attr-defined]
    with mock.patch.object(catalog, "gettext", wraps=catalog.gettext) as asked:
        pool.get_state_display()
    assert asked.call_count == 1


def test_that_nothing_waits_for_a_second_person_is_one_narrow_query() -> None:
    with CaptureQueriesContext(connection) as found:
        assert requests.waiting_for(Access(callers.person())) == []
    (sql,) = (one["sql"] for one in found.captured_queries if "pools_approvalrequest" in one["sql"])
    assert "JOIN" not in sql


def test_the_form_of_a_run_reads_the_generators_once(staff: Client) -> None:
    assert sum(" FROM benchmarks_generator" in sql for sql in statements(staff, "/runs/new/")) == 1


@pytest.mark.parametrize("state", [*STATES, "odd"])
@pytest.mark.parametrize("reason", ["", "<b>refused</b>"])
def test_a_badge_says_its_state_meaning_and_reason(state: str, reason: str) -> None:
    badge = Template('{% include "includes/state.html" %}').render(Context({"state": state, "reason": reason}))
    words = STATES.get(state)
    assert f">{words.label if words else state}</span>" in badge
    assert ("&lt;b&gt;refused&lt;/b&gt;" in badge) == bool(reason)
    assert str(words.meaning if words else "") in badge.replace("&#x27;", "'")


def test_a_badge_of_a_paused_copy_claims_nothing() -> None:
    context = {"state": "applied", "panel_is_paused": True}
    badge = Template('{% include "includes/state.html" %}').render(Context(context))
    assert ">unverified</span>" in badge
    assert "State when this panel was copied: applied; not checked since" in badge


def test_problems_are_counted_as_the_first_of_them_are_read(staff: Client) -> None:
    few = len([sql for sql in statements(staff, "/") if sql.startswith("SELECT COUNT")])
    for number in range(6):
        checked(a_cluster(name=f"gone-{number}"), state=ClusterState.UNREACHABLE, error="nothing listens")
    many = statements(staff, "/")
    assert len([sql for sql in many if sql.startswith("SELECT COUNT")]) == few
    an_event(Pool.objects.get())
    troubles = staff.get("/").context["troubles"]
    assert (len(troubles["shown"]), troubles["more"]) == (5, 2)
