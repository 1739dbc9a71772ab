"""The forms of runs and datasets before real servers: what they start, and what they say before they would."""

import itertools

import pytest
from django.test import Client

from benchmarks.models import Purpose, Run, Status
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster, Pool
from tests import callers
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.pages import page_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue")]
_numbers = itertools.count(1)
CREATE, FACTS, PREPARE = "/runs/new/", "/runs/new/preview/", "/datasets/new/"
OPTIONS = {"builtin": "select-only", "clients": "2", "threads": "1", "duration": "2", "progress": "1"}


@pytest.fixture
def staff(client: Client) -> Client:
    """A browser in which staff is logged in."""
    client.force_login(callers.person())
    return client


@pytest.fixture
def empty(postgres: PostgresServer) -> str:
    """A new database of the role `app`, without tables."""
    name = f"page_{next(_numbers)}"
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, name)
    return name


def direct(cluster: Cluster, database: str, **fields: str) -> dict[str, str]:
    """The form of a run straight to a cluster, as a browser sends it."""
    return {"route": "direct", "cluster": str(cluster.pk), "database": database, **OPTIONS, **fields}


def protect(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(protected=True)


@pytest.mark.usefixtures("in_this_process")
def test_the_form_starts_a_direct_run_as_the_role_named(staff: Client, cluster: Cluster, dataset: str) -> None:
    answer = staff.post(CREATE, direct(cluster, dataset, user=APP_ROLE, name="before tuning", tags="pg16, old"))
    run = Run.objects.get(purpose=Purpose.LOAD)
    assert answer.url == f"/runs/{run.pk}/"  # type: ignore[attr-defined]
    assert (run.name, run.database, run.role, run.pool) == ("before tuning", dataset, APP_ROLE, None)
    assert (run.options["clients"], run.options["duration"], run.status) == (2, 2, Status.QUEUED)
    assert [tag.name for tag in run.tags.all()] == ["old", "pg16"]


def test_both_ways_start_two_runs_of_one_group(staff: Client, pool: Pool) -> None:
    answer = staff.post(CREATE, {"route": "both", "pool": str(pool.pk), "tags": "worth", **OPTIONS})
    first, second = Run.objects.filter(purpose=Purpose.LOAD).order_by("number")
    assert answer.url == f"/runs/{first.pk}/"  # type: ignore[attr-defined]
    assert (first.pool, second.pool) == (None, pool)
    assert first.group == second.group is not None
    assert [tag.name for run in (first, second) for tag in run.tags.all()] == ["worth", "worth"]
    assert "Waits for" in page_of(staff.get(f"/runs/{second.pk}/"))


def test_a_sweep_starts_a_run_for_each_number_of_clients(staff: Client, pool: Pool) -> None:
    sweep = {"route": "both", "pool": str(pool.pk), **OPTIONS, "threads": "2", "sweep_clients": "1, 4"}
    answer = staff.post(CREATE, sweep)
    runs = Run.objects.filter(purpose=Purpose.LOAD).order_by("number")
    assert answer.url == f"/runs/{runs[0].pk}/"  # type: ignore[attr-defined]
    assert [(run.pool, run.options["clients"], run.options["threads"]) for run in runs] == [
        (None, 1, 1),
        (pool, 1, 1),
        (None, 4, 2),
        (pool, 4, 2),
    ]
    assert len({run.group for run in runs}) == 1
    compared = page_of(staff.get("/runs/compare/", {"group": str(runs[0].group)}))
    assert "Sweep over clients" in compared


def test_a_database_without_dataset_is_told_before_and_refused_after(
    staff: Client, cluster: Cluster, empty: str
) -> None:
    link = f"{PREPARE}?engine=pgbench&amp;cluster={cluster.pk}&amp;database={empty}"
    assert link in page_of(staff.get(FACTS, direct(cluster, empty, part="facts")))
    answer = staff.post(CREATE, direct(cluster, empty))
    assert answer.context["form"].non_field_errors() == [f"{empty} lacks pgbench tables: prepare a dataset first"]
    assert link in page_of(answer)
    assert Run.objects.count() == 0


def test_clients_that_would_wait_for_each_other_are_told(staff: Client, cluster: Cluster, dataset: str) -> None:
    crowd = direct(cluster, dataset, part="facts", builtin="tpcb-like", clients="12")
    reported = "12 clients would wait for each other&#x27;s rows at scale 1: use at most 1, or prepare scale 12."
    assert reported in page_of(staff.get(FACTS, crowd))
    for calm in ({"builtin": "simple-update"}, {"clients": "1", "threads": "1"}):
        assert "wait for each other" not in page_of(staff.get(FACTS, {**crowd, **calm}))


def test_a_write_on_a_protected_cluster_needs_the_typed_name(staff: Client, cluster: Cluster, dataset: str) -> None:
    protect(cluster)
    write = direct(cluster, dataset, builtin="tpcb-like")
    assert 'name="confirm"' in page_of(staff.get(FACTS, {**write, "part": "facts"}))
    assert 'name="confirm"' not in page_of(staff.get(FACTS, direct(cluster, dataset, part="facts")))
    refused = staff.post(CREATE, write)
    assert "type the database&#x27;s name" in page_of(refused)
    assert 'name="confirm"' in page_of(refused)
    assert staff.post(CREATE, {**write, "confirm": dataset}).status_code == 302


def test_a_dataset_is_prepared_from_its_form(staff: Client, cluster: Cluster, empty: str) -> None:
    chosen = {"cluster": str(cluster.pk), "database": empty, "scale": "1"}
    facts = page_of(staff.get(f"{PREPARE}facts/", chosen))
    assert "<dt>Needs about</dt><dd>15." in facts
    assert "Free on disk" in facts
    answer = staff.post(PREPARE, chosen)
    run = Run.objects.get()
    assert answer.url == f"/runs/{run.pk}/"  # type: ignore[attr-defined]
    assert (run.purpose, run.options["scale"]) == (Purpose.PREPARE, 1)


def test_a_scale_that_does_not_fit_is_told_as_one_types(staff: Client, cluster: Cluster, empty: str) -> None:
    chosen = {"cluster": str(cluster.pk), "database": empty, "scale": "99999"}
    assert "The dataset does not fit" in page_of(staff.get(f"{PREPARE}facts/", chosen))
    assert "are free on the disk" in staff.post(PREPARE, chosen).context["form"].non_field_errors()[0]


def test_preparing_on_a_protected_cluster_needs_the_typed_name(staff: Client, cluster: Cluster, empty: str) -> None:
    protect(cluster)
    chosen = {"cluster": str(cluster.pk), "database": empty, "scale": "1"}
    refused = staff.post(PREPARE, chosen)
    assert 'name="confirm"' in page_of(refused)
    assert Run.objects.count() == 0
    assert staff.post(PREPARE, {**chosen, "confirm": empty}).status_code == 302


def test_without_a_queue_nothing_is_saved_and_the_answer_is_503(
    staff: Client, cluster: Cluster, dataset: str, settings: object
) -> None:
    before = Run.objects.count()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # type: ignore[attr-defined]
    answer = staff.post(CREATE, direct(cluster, dataset))
    assert answer.status_code == 503
    assert "nothing was saved: try again" in page_of(answer)
    assert Run.objects.count() == before
