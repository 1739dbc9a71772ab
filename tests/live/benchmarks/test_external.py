"""Runs against an endpoint given by its URI alone, here a real PgBouncer that the panel is not told to configure."""

import re
from typing import Any

import pytest
from django.test import Client

from benchmarks.errors import InvalidOptions, InvalidTarget, Refused
from benchmarks.models import ExternalEndpoint, ObservationKind, Run, Status, Validity
from benchmarks.results import comparisons
from benchmarks.targets import external
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools.models import Cluster, Pool
from tests import callers
from tests.benchmarks.submitting import submit_one, submit_pair
from tests.live.benchmarks.conftest import QUICK, execute, short
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.pages import page_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_this_process")]
URL = "/api/v1/external-endpoints/"
WORDS = "channel_binding=prefer&target_session_attrs=read-write"  # A provider's URI has these parameters.
READS = {"builtin": "select-only"}


def uri_of(pgbouncer: PgBouncerServer, password: str = APP_PASSWORD) -> str:
    return f"postgresql://{APP_ROLE}:{password}@{pgbouncer.host}:{pgbouncer.port}/orders?sslmode=disable&{WORDS}"


@pytest.fixture
def endpoint(pool: Pool, pgbouncer: PgBouncerServer) -> ExternalEndpoint:
    """The pool's PgBouncer, as somebody else's: neither its cluster nor its console is known."""
    made = external.save(ExternalEndpoint(), uri_of(pgbouncer), name="theirs", pooled_by="Odyssey")
    pool.delete()
    return made


def against(endpoint: ExternalEndpoint, **options: Any) -> Run:
    return submit_one(target={"external": str(endpoint.pk)}, options=short(**READS, **options), author=None)


def test_a_uri_is_all_that_a_run_needs(endpoint: ExternalEndpoint) -> None:
    run = execute(against(endpoint, connect=True, duration=2, rate=20))
    assert (run.status, run.validity) == (Status.SUCCEEDED, Validity.VALID), (run.error, run.reasons)
    assert (run.cluster, run.pool, run.endpoint_kind, run.pooled_by) == (None, None, "pooled", "Odyssey")
    assert (run.target_label, run.removed) == ("theirs (Odyssey)", "")
    assert run.summary["tps"] > 0
    assert run.server_version
    assert run.evidence["pooler"]["kind"] == "Odyssey"
    assert APP_PASSWORD not in str(run.command)
    assert WORDS.replace("&", " ") in str(run.command)


def test_its_cluster_lets_it_be_compared_and_its_console_be_watched(
    endpoint: ExternalEndpoint, cluster: Cluster, dataset: str, pgbouncer: PgBouncerServer
) -> None:
    known = {"cluster": cluster, "cluster_database": dataset, "console_user": pgbouncer.admin_user}
    uri = external.uri_of(endpoint)
    assert APP_PASSWORD not in uri
    external.save(endpoint, uri, console_password=pgbouncer.admin_password, **known)
    queued = submit_pair({"external": str(endpoint.pk)}, short(**READS, duration=3), author=None)
    direct, pooled = [execute(run) for run in queued]
    assert [run.status for run in (direct, pooled)] == [Status.SUCCEEDED] * 2, pooled.error
    assert [run.endpoint_kind for run in (direct, pooled)] == ["direct", "pooled"]
    assert {run.cluster for run in (direct, pooled)} == {cluster}
    assert {run.role for run in (direct, pooled)} == {APP_ROLE}
    # the clients are counted at every look, a server connection only if a query runs at that moment
    assert pooled.pool_samples.filter(cl_active__gt=0).exists()
    assert pooled.observations.filter(kind=ObservationKind.POOLER).exists()
    labels = [arm.label for arm in comparisons.compare([direct, pooled]).arms]
    assert labels == ["direct", "pooled by Odyssey"]


def test_what_writes_asks_for_the_name_as_nobody_knows_whose_server_it_is(endpoint: ExternalEndpoint) -> None:
    target, writes = {"external": str(endpoint.pk)}, QUICK | {"builtin": "tpcb-like"}
    with pytest.raises(Refused, match=r"no cluster is registered behind theirs \(Odyssey\).*type the database's"):
        submit_one(target=target, options=writes, author=None)
    run = execute(submit_one(target=target, options=writes, author=None, confirm="orders"))
    assert run.status == Status.SUCCEEDED, run.error


def test_what_needs_the_server_itself_is_refused_before_it_is_queued(endpoint: ExternalEndpoint) -> None:
    for options in ({"checkpoint": True}, {"vacuum": True}, {"idle_connections": 5, "idle_at": "cluster"}):
        with pytest.raises(InvalidOptions, match="no cluster is registered behind theirs"):
            against(endpoint, **options)
    with pytest.raises(InvalidTarget, match="no cluster is registered behind theirs"):
        submit_pair({"external": str(endpoint.pk)}, QUICK | READS, author=None)
    with pytest.raises(InvalidTarget, match="includes it"):
        submit_one(target={"external": str(endpoint.pk), "user": "x"}, options=QUICK | READS, author=None)
    with pytest.raises(InvalidTarget, match="a dataset is made on a registered cluster"):
        submit_one(target={"external": str(endpoint.pk)}, options={"scale": 1}, author=None, purpose="prepare")


def test_a_script_is_judged_by_the_role_that_the_endpoint_really_logs_in_as(
    endpoint: ExternalEndpoint, pgbouncer: PgBouncerServer, postgres: PostgresServer, dataset: str
) -> None:
    script = QUICK | {"scripts": [{"text": "SELECT 1;"}]}
    run = execute(submit_one(target={"external": str(endpoint.pk)}, options=script, author=None, confirm="orders"))
    assert run.status == Status.SUCCEEDED, run.error
    as_superuser = f"host={postgres.host} port={postgres.port} dbname={dataset} user={postgres.superuser}"
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    forced = f"[databases]\nforced = {as_superuser} password={postgres.password}\n"
    ini.write_text(ini.read_text().replace("[databases]\n", forced))
    users = pgbouncer.config_dir / "userlist.txt"  # a verifier of app's is no login as another (PgBouncer's NEWS, 1612)
    clear = f'"{APP_ROLE}" "{APP_PASSWORD}"'
    users.write_text(re.sub(rf'(?m)^"{APP_ROLE}".*$', clear, users.read_text()))
    with pgbouncer.connect() as console:
        console.execute("RELOAD")
    uri = uri_of(pgbouncer).replace("/orders", "/forced")
    forced_endpoint = external.save(ExternalEndpoint(), uri, name="forced", pooled_by="PgBouncer")
    target = {"external": str(forced_endpoint.pk)}
    with pytest.raises(Refused, match=f"role {postgres.superuser} is a superuser"):
        submit_one(target=target, options=script, author=None, confirm="forced")


def test_idle_connections_are_held_through_it(endpoint: ExternalEndpoint) -> None:
    run = execute(against(endpoint, idle_connections=5))
    assert run.status == Status.SUCCEEDED, run.error
    assert run.conditions["idle"]["connections"] == 5


def test_a_run_on_one_that_was_removed_says_so(endpoint: ExternalEndpoint) -> None:
    run = execute(against(endpoint))
    endpoint.delete()
    run.refresh_from_db()
    assert run.removed == "external endpoint theirs (Odyssey)"


def test_the_api_keeps_its_password_to_itself(pool: Pool, pgbouncer: PgBouncerServer) -> None:
    admin = callers.bearer("admin")
    body = {"name": "theirs", "uri": uri_of(pgbouncer), "pooled_by": "pgcat"}
    assert callers.bearer("apply", "run").post(URL, body).status_code == 403
    made = admin.post(URL, body)
    assert made.status_code == 201, made.json()
    assert APP_PASSWORD not in page_of(made) + page_of(admin.get(URL))
    address = f"{URL}{made.json()['id']}/"
    changed = admin.patch(address, {"pooled_by": "Odyssey"})  # logs in again, with the password that is kept
    assert (changed.status_code, changed.json()["pooled_by"]) == (200, "Odyssey"), changed.json()
    elsewhere = admin.patch(address, {"uri": made.json()["uri"].replace(f":{pgbouncer.port}/", ":1/")})
    assert (elsewhere.status_code, list(elsewhere.json())) == (400, ["uri"])
    wrong = admin.post(URL, body | {"name": "other", "uri": uri_of(pgbouncer, "not-it")})
    assert (wrong.status_code, list(wrong.json())) == (400, ["uri"])
    assert "not-it" not in page_of(wrong)
    twice = admin.post(URL, body)
    assert (twice.status_code, list(twice.json())) == (400, ["name"])
    started = callers.bearer("run").post(
        "/api/v1/runs/", {"target": {"external": made.json()["id"]}, "options": QUICK | READS}
    )
    assert (started.status_code, started.json()["target"]["pooled_by"]) == (201, "Odyssey"), started.json()


def test_the_pages_add_it_and_start_a_run(pool: Pool, pgbouncer: PgBouncerServer) -> None:
    browser = Client()
    browser.force_login(callers.person())
    assert "Add the first endpoint" in page_of(browser.get("/external-endpoints/"))
    typed = {"name": "theirs", "uri": uri_of(pgbouncer, "nonsense"), "pooled_by": "Odyssey"}
    refused = browser.post("/external-endpoints/new/", typed)
    assert refused.status_code == 422
    assert 'value="theirs"' in page_of(refused)
    browser.post("/external-endpoints/new/", typed | {"uri": uri_of(pgbouncer)})
    endpoint = ExternalEndpoint.objects.get()
    page = page_of(browser.get("/external-endpoints/"))
    assert "theirs" in page
    assert APP_PASSWORD not in page
    assert APP_PASSWORD not in page_of(browser.get(f"/external-endpoints/{endpoint.pk}/edit/"))
    form = page_of(browser.get(f"/runs/new/?external={endpoint.pk}"))
    assert "theirs (Odyssey)" in form
    asked = {"route": "external", "external": str(endpoint.pk), "page": "p1"}
    preview = page_of(browser.post("/runs/new/preview/", asked | READS))
    assert "pgbench" in preview
    assert APP_PASSWORD not in preview
    answer = browser.post("/runs/new/", asked | READS)
    run = Run.objects.get()
    assert answer.status_code == 302
    assert run.external == endpoint
    head = page_of(browser.get(f"/runs/{run.pk}/"))
    assert "an external endpoint" in head
    assert browser.post(f"/external-endpoints/{endpoint.pk}/delete/").status_code == 302
    assert browser.get(f"/runs/{run.pk}/").status_code == 200
