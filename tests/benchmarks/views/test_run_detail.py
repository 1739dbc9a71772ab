"""A run's page, while it goes on and afterwards."""

import json
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from benchmarks.analysis.chart_series import Detail
from benchmarks.models import Purpose, Run, Status, Validity
from benchmarks.views import run_detail
from tests.benchmarks.records import a_finished_run, a_run, look_at_pool, the_options
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool

SEEN = {"cpu_percent": 60.0, "busy_percent": 30.0}


def page(client, run, **headers):
    answer = client.get(f"/runs/{run.pk}/", headers=headers)
    assert answer.status_code == 200
    return page_of(answer)


def course(text):
    return json.loads(re.search(r'<script id="course" type="application/json">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_brings_the_rows_of_its_charts_and_where_to_go_on(staff):
    run = a_run(2, status=Status.RUNNING, attempt=1, pool=a_pool())
    look_at_pool(run, 5, 2.2)
    found = course(page(staff, run))
    assert found["after"] == "1-5"
    assert found["span"] == 30
    none = [None, None, None]
    assert found["samples"]["rows"] == [
        [1, 2, 1.0, 100.0, 10.0, 1.0, 0, *none],
        [1, 4, 2.0, 200.0, 5.0, 1.0, 0, *none],
    ]
    assert found["pool"]["rows"] == [[1, 5, 2.2, 4, 6, 4, 0, 2.5]]
    assert found["final"] is False


def test_without_javascript_the_samples_are_a_table_with_a_link_to_reload(staff):
    run = a_run(2, status=Status.RUNNING, attempt=1)
    text = page(staff, run)
    table = text[text.index("<noscript>") : text.index("</noscript>")]
    assert '<td class="pd-number">200</td>' in table
    assert f'<a class="btn btn-sm" href="/runs/{run.pk}/">Reload' in table
    assert 'http-equiv="refresh"' not in text


def test_the_pool_chart_is_there_for_pooled_runs_only(staff):
    assert 'data-chart="pool"' in page(staff, a_finished_run(pool=a_pool()))
    assert 'data-chart="pool"' not in page(staff, a_finished_run())


def test_a_run_whose_worker_is_silent_says_so(staff):
    said = "The worker does not answer: its lease ran out at "
    run = a_run(1, status=Status.RUNNING, attempt=1, lease_until=timezone.now() + timedelta(seconds=15))
    assert said not in page(staff, run)
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert said in page(staff, run)
    run.finish(Status.LOST)
    assert said not in page(staff, run)


def test_a_running_run_can_be_stopped_by_staff(staff, reader):
    run = a_run(1, status=Status.RUNNING, attempt=1)
    assert f'action="/runs/{run.pk}/cancel/"' in page(staff, run)
    assert f'action="/runs/{run.pk}/cancel/"' not in page(reader, run)
    staff.post(f"/runs/{run.pk}/cancel/")
    run.refresh_from_db()
    assert run.cancel_requested_at is not None
    assert "Stopping…" in page(staff, run)


def test_stopping_a_queued_run_ends_it_and_repeating_that_is_fine(staff):
    run = a_run()
    for _ in range(2):
        assert staff.post(f"/runs/{run.pk}/cancel/").status_code == 302
    run.refresh_from_db()
    assert run.status == Status.CANCELLED


def test_a_queued_run_says_what_it_waits_for(staff):
    cluster = a_cluster(name="demo")
    began = timezone.now() - timedelta(seconds=10)
    first = a_run(cluster=cluster, status=Status.RUNNING, load_began_at=began, started_at=began)
    text = " ".join(re.sub(r"<[^>]+>", " ", page(staff, a_run(cluster=cluster))).split())
    assert re.search(rf"Waits for run {first.number} on cluster demo ?\. About (20|1\d) s left\.", text)


def test_a_finished_run_shows_its_figures_with_the_exact_value_in_the_tooltip(staff):
    text = page(staff, a_finished_run())
    assert '<dd title="6396.18 tps">6,396 ' in text
    assert "pgbench -n &#x27;host=127.0.0.1 dbname=" in text
    assert "Server: 15.14." in text
    assert "vacuum is off" in text


def test_a_stopped_run_keeps_partial_figures_labeled_so(staff):
    text = page(staff, a_finished_run(3, status=Status.CANCELLED, validity=Validity.INCOMPLETE, summary={}))
    assert '<span class="status status-orange">partial</span>' in text
    assert '<dd title="200.0 tps">200 ' in text


def test_reasons_and_errors_are_plain_sentences(staff):
    run = a_finished_run(validity=Validity.SUSPECT, reasons=["tps × latency is 4.0, not 10"], error="<b>broken</b>")
    text = page(staff, run)
    assert "tps × latency is 4.0, not 10" in text
    assert "&lt;b&gt;broken&lt;/b&gt;" in text


def test_statements_have_a_table(staff):
    statement = {"script": 1, "latency_ms": 0.346, "failures": 0, "retries": None, "statement": "SELECT 1 < 2;"}
    text = page(staff, a_finished_run(statements=[statement]))
    assert "0.346</td>" in text
    assert "SELECT 1 &lt; 2;" in text


def test_a_pair_leads_to_its_comparison_in_order(staff):
    group = uuid4()
    first, second = a_finished_run(group=group), a_finished_run(group=group)
    for run in (first, second):
        assert f"/runs/compare/?run={first.pk}&amp;run={second.pk}" in page(staff, run)


@pytest.mark.parametrize(("count", "called"), [(2, "Compare the pair"), (3, "Compare all 3 runs")])
def test_runs_of_one_group_are_called_what_they_are(staff, count, called):
    group = uuid4()
    runs = [a_finished_run(group=group) for _ in range(count)]
    assert called in page(staff, runs[0])


def test_a_dataset_being_prepared_has_a_progress_bar_and_no_charts(staff):
    run = a_run(purpose=Purpose.PREPARE, status=Status.RUNNING, progress_percent=37.5, options={"scale": 10})
    text = page(staff, run)
    assert '<progress class="run-progress" id="run-progress" max="100" value="37.5">' in text
    assert "data-charts" not in text


def test_idle_connections_being_opened_have_a_progress_bar_until_they_are(staff):
    options = {"clients": 2, "duration": 5, "idle_connections": 1000}
    run = a_run(status=Status.STARTING, progress_percent=37.5, options=options)
    text = page(staff, run)
    assert "Opening 1,000 idle connections" in text
    assert '<progress class="run-progress" id="run-progress" max="100" value="37.5">' in text
    run.write(conditions={"idle": {"connections": 1000, "opened_in_s": 9.5, "memory": "pooled"}}, progress_percent=None)
    assert "run-progress" not in page(staff, run)


def test_htmx_gets_the_parts_that_follow_the_state_only(staff):
    text = page(staff, a_finished_run(), **{"HX-Request": "true"})
    assert re.findall(r' id="(run-[a-z]+)"', text) == ["run-head", "run-result", "run-details"]
    assert "<html" not in text


def test_the_page_of_a_run_whose_target_is_gone_still_opens(staff):
    run = a_finished_run(pool=a_pool(), cluster=a_cluster(), target_label="shop on bouncer")
    Run.objects.filter(pk=run.pk).update(pool=None, cluster=None)
    assert "shop on bouncer" in page(staff, run)


def test_queries_do_not_grow_with_the_samples(staff):
    short, long = a_finished_run(1), a_finished_run(3)
    assert queries_of(staff, f"/runs/{short.pk}/") == queries_of(staff, f"/runs/{long.pk}/")


def test_a_long_run_that_has_ended_is_thinned_and_finer_for_some_seconds_of_it(staff, monkeypatch):
    monkeypatch.setattr(run_detail, "OF_PAGE", Detail(rows=10, observations=5))
    monkeypatch.setattr(run_detail, "OF_ZOOM", Detail(rows=20, observations=5))
    run = a_finished_run(points=60)
    brought = course(page(staff, run))
    assert len(brought["samples"]["rows"]) == 10
    assert brought["finer"] == reverse("run-course", args=[run.pk])
    finer = staff.get(brought["finer"], {"from": "20", "to": "30"}).json()
    assert [row[2] for row in finer["samples"]["rows"]] == [float(t) for t in range(20, 31)]
    assert len(staff.get(brought["finer"], {"from": "0", "to": "60"}).json()["samples"]["rows"]) == 20


def test_a_short_run_is_whole_and_nothing_is_finer(staff):
    brought = course(page(staff, a_finished_run(points=3)))
    assert (len(brought["samples"]["rows"]), brought["finer"]) == (3, "")


@pytest.mark.parametrize("span", [{}, {"from": "1"}, {"from": "a", "to": "2"}, {"from": "nan", "to": "inf"}])
def test_seconds_that_are_no_numbers_are_refused(staff, span):
    answer = staff.get(reverse("run-course", args=[a_finished_run().pk]), span)
    assert (answer.status_code, answer.json()) == (400, {"detail": "give the seconds from and to as numbers"})


def test_all_that_was_printed_is_plain_text(staff):
    run = a_finished_run()
    answer = staff.get(f"/runs/{run.pk}/output/")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.content.decode() == "progress: 1.0 s, 100.0 tps\nvacuum is off\ntps = 6396.18\n"
    assert staff.get(f"/runs/{a_run().pk}/output/").content == b""
    assert staff.get(f"/runs/{uuid4()}/output/").status_code == 404


def test_an_unknown_run_is_not_found(staff):
    assert staff.get(f"/runs/{uuid4()}/").status_code == 404
    assert staff.post(f"/runs/{a_run().pk}/").status_code == 405


def test_what_failed_is_told_by_kind(staff):
    errors = {"status 500": 1234, "timeout": 2}
    run = a_finished_run(engine="http", summary={"tps": 5.0, "transactions": 10, "failed": 1236, "errors": errors})
    page = page_of(staff.get(f"/runs/{run.pk}/"))
    for part in ("Failures</h2>", "status 500", "1,234", "timeout", "Requests", "own summary (HTTP load)"):
        assert part in page


def test_clients_at_work_stand_beside_those_asked_for_where_they_differ(staff):
    options = the_options(clients=150)
    fewer = a_finished_run(options=options, summary={"tps": 258.0, "effective_clients": 72.6})
    assert "requested: 150" in page_of(staff.get(f"/runs/{fewer.pk}/"))
    all_of_them = a_finished_run(options=options, summary={"tps": 344.0, "effective_clients": 145.0})
    assert "requested: 150" not in page_of(staff.get(f"/runs/{all_of_them.pk}/"))


def test_a_run_that_connected_for_each_transaction_tells_what_a_login_cost(staff):
    run = a_finished_run(options=the_options(connect=True), conditions={"meanwhile": SEEN})
    page = page_of(staff.get(f"/runs/{run.pk}/"))
    assert "Cost of a login" in page
    assert "What would reduce it" in page
    kept = page_of(staff.get(f"/runs/{a_finished_run().pk}/"))
    assert "Cost of a login" not in kept


def test_the_advice_on_a_full_core_leads_to_the_page_of_processes(staff):
    pool = a_pool()
    reasons = ["PgBouncer took 99 % of the one core; let several share its port (so_reuseport)"]
    run = a_finished_run(pool=pool, reasons=reasons)
    assert f'href="/poolers/{pool.pooler_id}/processes/"' in page(staff, run)
