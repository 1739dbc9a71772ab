"""Loads through entries of a PgBouncer that somebody else configures, alone and beside the direct route."""

import psycopg
import pytest
from django.test import Client

from benchmarks.models import ExternalEndpoint, ObservationKind, Run, Status, Validity
from benchmarks.results import comparisons
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools.inventory import poolers
from pools.models import Cluster, Entry
from tests.callers import bearer, person
from tests.live.benchmarks.conftest import execute, short
from tests.live.conftest import APP_PASSWORD, APP_ROLE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_this_process")]
READS = {"builtin": "select-only"}


@pytest.fixture
def entry(pgbouncer: PgBouncerServer, postgres: PostgresServer, cluster: Cluster, dataset: str) -> Entry:
    """An operator's entry of two connections, of a pooler that is watched by one of its stats_users."""
    folder = pgbouncer.config_dir
    line = f"theirs = host=127.0.0.1 port={postgres.port} dbname={dataset} pool_size=2 pool_mode=transaction"
    main = (folder / "pgbouncer.ini").read_text().replace("[databases]\n", f"[databases]\n{line}\n", 1)
    account.write_private(folder / "pgbouncer.ini", f"{main}stats_users = watcher\n")
    users = (folder / "userlist.txt").read_text()
    account.write_private(folder / "userlist.txt", f'{users}"watcher" "watching"\n"{APP_ROLE}" "{APP_PASSWORD}"\n')
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    login = {"admin_user": "watcher", "admin_password": "watching"}
    made, reason = poolers.register(
        {"name": "edge", "kind": "pgbouncer", "host": pgbouncer.host, "port": pgbouncer.port, **login}
    )
    assert reason == ""
    return made.entries.get(name="theirs")


def test_a_pgbench_goes_through_an_entry_and_both_routes_are_compared(entry: Entry, cluster: Cluster) -> None:
    api = bearer()
    asked = {"target": {"entry": str(entry.pk)}, "options": short(**READS, duration=3, clients=6, rate=None)}
    refused = api.post("/api/v1/runs/", asked, format="json")
    assert (refused.status_code, "give one at entries/" in str(refused.json())) == (400, True)
    login = {"user": APP_ROLE, "password": APP_PASSWORD}
    endpoint = api.post(f"/api/v1/entries/{entry.pk}/endpoint/", login, format="json")
    assert APP_PASSWORD not in endpoint.content.decode()
    answer = api.post("/api/v1/runs/", {**asked, "pair": True}, format="json")
    assert answer.status_code == 201, answer.content
    direct, pooled = [execute(run) for run in Run.objects.filter(purpose="load").order_by("number")]
    for run in (direct, pooled):
        assert (run.status, run.exit_code, run.validity) == (Status.SUCCEEDED, 0, Validity.VALID), run.reasons
        assert run.summary["transactions"] > 0
        assert (run.cluster, run.role) == (cluster, APP_ROLE)
        assert APP_PASSWORD not in str(run.command)
    assert (direct.endpoint_kind, pooled.endpoint_kind, pooled.pooled_by) == ("direct", "pooled", "PgBouncer")
    assert pooled.samples.count() >= 2
    # six clients share the entry's two connections, as the console of its stats_users tells
    assert max(pooled.pool_samples.values_list("sv_active", flat=True)) <= 2
    assert pooled.observations.filter(kind=ObservationKind.POOLER).exists()
    labels = [arm.label for arm in comparisons.compare([direct, pooled]).arms]
    assert labels == ["direct", "pooled by PgBouncer"]


def test_the_page_asks_for_a_login_and_leads_to_the_comparison(entry: Entry) -> None:
    browser = Client()
    browser.force_login(person())
    wrong = browser.post(f"/entries/{entry.pk}/run/", {"user": APP_ROLE, "password": "wrong"})
    assert (wrong.status_code, ExternalEndpoint.objects.exists()) == (422, False)
    sent = {"user": APP_ROLE, "password": APP_PASSWORD, "worth": "1"}
    form = browser.post(f"/entries/{entry.pk}/run/", sent, follow=True).context["form"]
    values = {name: form[name].value() for name in ("route", "and_direct", "connect", "external")}
    endpoint = str(ExternalEndpoint.objects.get().pk)
    assert values == {"route": "external", "and_direct": True, "connect": True, "external": endpoint}


def test_an_entry_that_its_operator_removes_ends_in_a_failed_run_with_the_reason(
    entry: Entry, pgbouncer: PgBouncerServer
) -> None:
    api, login = bearer(), {"user": APP_ROLE, "password": APP_PASSWORD}
    api.post(f"/api/v1/entries/{entry.pk}/endpoint/", login, format="json")
    asked = {"target": {"entry": str(entry.pk)}, "options": short(**READS)}
    run_id = api.post("/api/v1/runs/", asked, format="json").json()["id"]
    main = pgbouncer.config_dir / "pgbouncer.ini"
    account.write_private(main, main.read_text().replace("theirs = ", "; theirs = "))
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(host=pgbouncer.host, port=pgbouncer.port, dbname="theirs", **login)
    run = execute(Run.objects.get(pk=run_id))
    assert run.status == Status.FAILED
    assert "theirs" in run.error
