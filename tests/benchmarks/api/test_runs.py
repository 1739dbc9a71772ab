"""The REST API of runs, without a worker; with one: tests/live/test_api.py."""

import uuid

import pytest
from django.db import connection

from benchmarks.models import Purpose, Run, Sample, Status
from tests.benchmarks.api.conftest import make_run
from tests.callers import anonymous, bearer, queries_of
from tests.waiting import meanwhile

pytestmark = pytest.mark.django_db
URL = "/api/v1/runs/"
CONTRACT = {
    "id", "number", "engine", "target", "options", "status", "validity", "reasons", "command", "generator", "attempt",
    "created_at", "started_at", "finished_at", "exit_code", "error", "summary", "statements", "client_version",
    "server_version", "conditions",
}  # fmt: skip
FIGURES = {
    "tps", "tps_including_connections", "latency_avg_ms", "latency_stddev_ms", "latency_p50_ms", "latency_p95_ms",
    "latency_p99_ms", "transactions", "failed", "retried", "initial_connection_ms", "average_connection_ms",
    "effective_clients",
}  # fmt: skip
PRINTED = """pgbench (15.14 (Debian 15.14-0+deb12u1))
progress: 1.0 s, 1234.5 tps, lat 0.810 ms stddev 0.120, 0 failed
progress: 2.0 s, 1300.0 tps, lat 0.770 ms stddev 0.110, 0 failed
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 1
number of threads: 1
maximum number of tries: 1
duration: 2 s
number of transactions actually processed: 2535
number of failed transactions: 0 (0.000%)
latency average = 0.789 ms
latency stddev = 0.115 ms
initial connection time = 2.100 ms
tps = 1267.416000 (without initial connection time)
"""


def url_of(run):
    return f"{URL}{run.pk}/"


def test_a_run_reads_as_contracted(runner, run, cluster):
    read = runner.get(url_of(run)).json()
    assert set(read) == CONTRACT | {
        "name", "purpose", "group", "progress_percent", "generators", "alongside", "parent", "parts",
        "thresholds", "gate", "note", "tags", "is_baseline",
    }  # fmt: skip
    aim = {"cluster": str(cluster.pk), "database": "app", "pool": None, "label": "shop/app", "removed": ""}
    aim |= {"external": None, "pooled_by": ""}
    assert read["target"] == aim
    assert read["summary"] == dict.fromkeys(FIGURES)
    assert (read["options"], read["status"], read["validity"]) == ({"clients": 2}, "succeeded", "")


def test_a_summary_holds_the_contracts_figures_and_what_more_was_printed(runner, run):
    run.summary = {"tps": 99.5, "scale": 10}
    run.save(update_fields=["summary"])
    assert runner.get(url_of(run)).json()["summary"] == dict.fromkeys(FIGURES) | {"tps": 99.5, "scale": 10}


def test_samples_come_in_order_and_in_pages(runner, run):
    first = runner.get(f"{url_of(run)}samples/", {"page_size": 2}).json()
    assert (first["count"], [row["t"] for row in first["results"]]) == (3, [1.0, 2.0])
    assert first["results"][0] == {
        "t": 1.0, "tps": 101.0, "latency_ms": 1.5, "stddev_ms": 0.1, "failed": 0,
        "lag_ms": None, "skipped": None, "retried": None, "retries": None,
        "latency_p50_ms": None, "latency_p95_ms": None, "latency_p99_ms": None,
    }  # fmt: skip
    second = runner.get(first["next"]).json()
    assert [row["t"] for row in second["results"]] == [3.0]


def test_a_page_holds_at_most_200_rows(runner, run):
    Sample.objects.bulk_create(Sample(run=run, attempt=1, seq=seq, t=seq) for seq in range(10, 260))
    assert len(runner.get(f"{url_of(run)}samples/", {"page_size": 1000}).json()["results"]) == 200


def test_the_log_is_what_the_program_printed(runner, run, cluster):
    assert runner.get(f"{url_of(run)}log/").json() == {
        "stdout": "tps = 101.5",
        "stderr": "progress: 1.0 s",
        "truncated": True,
    }
    silent = make_run(cluster, status=Status.QUEUED)
    assert runner.get(f"{url_of(silent)}log/").json() == {"stdout": "", "stderr": "", "truncated": False}


def test_a_queued_run_is_cancelled_at_once_and_again_without_harm(runner, cluster):
    run = make_run(cluster, status=Status.QUEUED)
    for _ in range(2):
        answer = runner.post(f"{url_of(run)}cancel/")
        assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")


def test_a_running_run_is_asked_to_end(runner, cluster):
    run = make_run(cluster, status=Status.RUNNING)
    assert runner.post(f"{url_of(run)}cancel/").json()["status"] == "running"
    run.refresh_from_db()
    assert run.cancel_requested_at is not None


def test_a_run_that_ended_can_not_be_cancelled(runner, run):
    answer = runner.post(f"{url_of(run)}cancel/")
    assert answer.status_code == 409
    assert "succeeded" in answer.json()["detail"]


def test_an_output_becomes_a_finished_run(runner):
    answer = runner.post(f"{URL}import/", {"text": PRINTED, "name": "from the old server"})
    assert answer.status_code == 201
    made = answer.json()
    assert (made["status"], made["purpose"], made["name"]) == ("succeeded", "import", "from the old server")
    assert (made["summary"]["tps"], made["summary"]["transactions"]) == (1267.416, 2535)
    samples = runner.get(f"{URL}{made['id']}/samples/").json()["results"]
    assert [(row["t"], row["tps"]) for row in samples] == [(1.0, 1234.5), (2.0, 1300.0)]
    assert runner.get(f"{URL}{made['id']}/log/").json()["stdout"] == PRINTED


@pytest.mark.parametrize("text", ["", "nothing of the kind", PRINTED + PRINTED])
def test_what_is_not_one_output_is_refused_under_its_field(runner, text):
    answer = runner.post(f"{URL}import/", {"text": text})
    assert (answer.status_code, list(answer.json())) == (400, ["text"])
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({}, "cluster"),
        ({"pool": str(uuid.uuid4())}, "pool"),
        ({"cluster": str(uuid.uuid4()), "database": "app"}, "cluster"),
        ({"cluster": "no-id", "database": "app"}, "cluster"),
        ({"host": "elsewhere"}, "host"),
    ],
)
def test_a_target_that_is_not_there_is_named(runner, target, field):
    answer = runner.post(URL, {"target": target})
    assert answer.status_code == 400
    assert list(answer.json()) == ["target"]
    assert list(answer.json()["target"]) == [field]


def test_a_bad_option_is_named_and_nothing_is_queued(runner, pool):
    answer = runner.post(URL, {"target": {"pool": pool.pk}, "options": {"clients": 0, "speed": 9}})
    assert answer.status_code == 400
    assert set(answer.json()["options"]) == {"clients", "speed"}
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "target"),
        ({"target": "pool"}, "target"),
        ({"target": {}, "engine": "warp"}, "engine"),
        ({"target": {}, "options": []}, "options"),
        ({"target": {}, "purpose": "import"}, "purpose"),
        ({"target": {}, "repeat": 0}, "repeat"),
        ({"target": {}, "pair": True, "purpose": "prepare"}, "pair"),
        ({"target": {}, "pair": True, "repeat": 21}, "repeat"),
        ({"target": {}, "sweep_clients": "1, 2"}, "sweep_clients"),
        ({"target": {}, "sweep_clients": [4]}, "sweep_clients"),
        ({"target": {}, "sweep_clients": [0, 4]}, "sweep_clients"),
        ({"target": {}, "sweep_clients": [4, 4]}, "sweep_clients"),
        ({"target": {}, "sweep_clients": [1, 2, 4, 8], "repeat": 16}, "sweep_clients"),
        ({"target": {}, "generators": "far-away"}, "generators"),
        ({"target": {}, "tags": "nightly"}, "tags"),
        ({"target": {}, "tags": ["x" * 41]}, "tags"),
    ],
)
def test_a_bad_body_is_named_by_field(runner, body, field):
    answer = runner.post(URL, body)
    assert answer.status_code == 400
    assert list(answer.json()) == [field]


def test_an_empty_sweep_is_none(runner):
    answer = runner.post(URL, {"target": {}, "sweep_clients": []})
    assert (answer.status_code, list(answer.json())) == (400, ["target"])


def test_a_pair_needs_a_pool(runner, cluster):
    cluster_only = {"target": {"cluster": str(cluster.pk), "database": "app"}, "pair": True}
    answer = runner.post(URL, cluster_only)
    assert (answer.status_code, list(answer.json()["target"])) == (400, ["pool"])


def test_a_cluster_that_is_down_is_said(runner, cluster):
    answer = runner.post(URL, {"target": {"cluster": str(cluster.pk), "database": "app"}})
    assert answer.status_code == 502
    assert answer.json()["detail"] == "the panel can't reach cluster shop; an admin sees the reason"
    assert not Run.objects.exists()


def test_lists_are_filtered(runner, cluster, pool):
    group = uuid.uuid4()
    make_run(cluster, status=Status.FAILED)
    make_run(cluster, pool=pool, pooled=True, group=group)
    make_run(purpose=Purpose.IMPORT, name="pasted")

    def found(**filters):
        return [row["number"] for row in runner.get(URL, filters).json()["results"]]

    assert found() == [3, 2, 1]
    assert found(ordering="number") == [1, 2, 3]
    assert found(status="failed") == [1]
    assert found(status=["failed", "succeeded"]) == [3, 2, 1]
    assert found(target=str(cluster.pk)) == [2, 1]
    assert found(target=str(pool.pk)) == [2]
    assert found(engine="pgbench", purpose="import") == [3]
    assert found(group=str(group)) == [2]
    assert found(search="pasted") == [3]
    assert found(experiment=str(uuid.uuid4())) == []
    for bad in ({"status": "odd"}, {"target": "no-id"}, {"engine": "odd"}):
        assert runner.get(URL, bad).status_code == 400


def test_wrong_methods_strangers_wrong_scopes_and_missing_ids(runner, run):
    for path in (URL, url_of(run), f"{url_of(run)}samples/", f"{url_of(run)}log/"):
        assert anonymous().get(path).status_code == 401
    assert runner.delete(url_of(run)).status_code == 405
    assert runner.put(url_of(run), {}).status_code == 405
    assert runner.get(f"{url_of(run)}cancel/").status_code == 405
    reader = bearer("read", "apply")
    assert reader.get(url_of(run)).status_code == 200
    for path in (URL, f"{URL}import/", f"{url_of(run)}cancel/"):
        assert reader.post(path, {}).status_code == 403
    for tail in ("", "samples/", "log/"):
        assert runner.get(f"{URL}{uuid.uuid4()}/{tail}").status_code == 404
    assert runner.get(f"{URL}no-id/").status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_runs(runner, cluster, pool):
    make_run(cluster)
    one = queries_of(runner, URL)
    make_run(cluster, pool=pool)
    make_run()
    assert queries_of(runner, URL) == one


@pytest.mark.parametrize("found", [{}, {"status": Status.SUCCEEDED}])
def test_the_list_is_read_in_its_order_and_never_sorted(cluster, found):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads a table of so few rows as a whole")
    make_run(cluster)
    plan = Run.objects.top_level().filter(**found)[:50].explain()
    assert "USING INDEX runs_" in plan
    assert "ORDER BY" not in plan


@pytest.fixture
def started(monkeypatch, cluster):
    """The bodies of which runs were started, under the ids given to them, without a server."""
    bodies = []

    def submit(body, author, is_admin, access, run_id=None):
        bodies.append(body)
        return make_run(cluster, status=Status.QUEUED, **({"pk": run_id} if run_id else {}))

    monkeypatch.setattr("benchmarks.api.runs.submit", submit)
    return bodies


def asked_with(runner, key, **body):
    target = {"pool": "00000000-0000-0000-0000-000000000000"}
    return runner.post(URL, {"target": target} | body, HTTP_IDEMPOTENCY_KEY=key)


def test_a_key_sent_again_answers_the_run_that_it_started(runner, started):
    key = uuid.uuid4().hex
    first, again = asked_with(runner, key), asked_with(runner, key)
    assert (first.status_code, first.headers.get("Idempotent-Replayed")) == (201, None)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert again.json() == first.json()
    assert len(started) == 1


def test_a_key_for_another_body_and_one_that_is_none_are_refused(runner, started):
    key = uuid.uuid4().hex
    asked_with(runner, key)
    other = asked_with(runner, key, name="another")
    assert other.status_code == 422
    assert other.json()["detail"].startswith("this Idempotency-Key was used with another body before")
    none = asked_with(runner, "x" * 201)
    assert (none.status_code, list(none.json())) == (400, ["Idempotency-Key"])
    assert len(started) == 1


def test_the_description_tells_of_the_key(runner):
    described = runner.get("/api/schema/?format=json").json()["paths"]["/api/v1/runs/"]["post"]
    key = next(one for one in described["parameters"] if one["name"] == "Idempotency-Key")
    assert (key["in"], key.get("required", False), key["schema"]["pattern"]) == ("header", False, "^[ -~]{1,200}$")
    assert {"200", "201"} <= described["responses"].keys()


def test_wait_answers_once_the_run_has_ended(runner, cluster, monkeypatch):
    run = make_run(cluster, status=Status.RUNNING)
    meanwhile(monkeypatch, lambda: Run.objects.update(status=Status.SUCCEEDED))
    assert runner.get(url_of(run), {"wait": 30}).json()["status"] == "succeeded"


def test_wait_answers_after_the_time_with_the_run_as_it_is(runner, cluster):
    run = make_run(cluster, status=Status.RUNNING)
    assert runner.get(url_of(run), {"wait": "0.2"}).json()["status"] == "running"
    assert list(runner.get(url_of(run), {"wait": "soon"}).json()) == ["wait"]
