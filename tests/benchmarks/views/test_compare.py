"""The comparison's page."""

import json
import re
from uuid import uuid4

import pytest

from benchmarks.models import Status, Validity
from tests.benchmarks.records import a_finished_run, a_run
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_pool

COMPARE = "/runs/compare/"


def test_two_runs_on_one_clock_with_ratios_to_the_first(staff):
    first, second = (
        a_finished_run(2),
        a_finished_run(3, pool=a_pool(), summary={"tps": 12792.36, "latency_avg_ms": 0.75}),
    )
    answer = staff.get(COMPARE, {"run": [first.pk, second.pk]})
    text = page_of(answer)
    assert answer.context["runs"] == [first, second]
    assert "compare-better" not in text
    assert "Not enough data to judge pooled by direct; missing: 2 more valid runs of direct" in text
    courses = json.loads(re.search(r'id="courses-rows" type="application/json">(.*?)</script>', text, re.DOTALL)[1])
    assert [(course["label"], len(course["samples"]["rows"])) for course in courses] == [
        (f"direct, run {first.number}", 2),
        (f"pooled, run {second.number}", 3),
    ]
    assert [course["means"]["tps"] for course in courses] == [6396.18, 12792.36]


def test_the_order_asked_for_is_kept_and_repeats_count_once(staff):
    first, second = a_finished_run(), a_finished_run()
    answer = staff.get(COMPARE, {"run": [second.pk, first.pk, second.pk]})
    assert answer.context["runs"] == [second, first]


def test_runs_ticked_in_a_list_are_measured_by_the_oldest(staff):
    first, second = a_finished_run(), a_finished_run()
    answer = staff.get(COMPARE, {"run": [second.pk, first.pk], "oldest": "first"})
    assert answer.context["runs"] == [first, second]


def test_an_invalid_run_is_shown_with_its_reason(staff):
    first, second = a_finished_run(), a_finished_run(validity=Validity.SUSPECT, reasons=["some clients hung"])
    text = page_of(staff.get(COMPARE, {"run": [first.pk, second.pk]}))
    assert "suspect: some clients hung" in text
    assert "compare-better" not in text


def repeats(way_fields, *values):
    figures = ({"tps": tps, "latency_avg_ms": 1000 / tps} for tps in values)
    return [a_finished_run(summary=one, **way_fields) for one in figures]


def test_repeats_are_one_arm_with_a_verdict_in_words_and_color(staff):
    direct, pooled = repeats({}, 1000.0, 1010.0, 990.0), repeats({"pooled": True}, 3000.0, 3030.0, 2970.0)
    answer = staff.get(COMPARE, {"run": [run.pk for run in (*direct, *pooled)]})
    text = page_of(answer)
    assert [(one["arm"].label, one["arm"].n_valid) for one in answer.context["arms"]] == [("direct", 3), ("pooled", 3)]
    assert '<strong class="compare-verdict compare-better">faster</strong>' in text
    assert "Pooled is faster than direct: Throughput ×3.00 (95 % interval" in text
    assert all(f"/runs/{run.pk}/" in text for run in (*direct, *pooled))
    key = answer.context["arms"][1]["arm"].key
    turned = staff.get(COMPARE, {"run": [run.pk for run in (*direct, *pooled)], "baseline": key})
    assert "Direct is slower than pooled" in page_of(turned)
    assert "Pooled is faster" in page_of(
        staff.get(COMPARE, {"run": [run.pk for run in (*direct, *pooled)], "baseline": "x"})
    )


def test_a_refused_run_beside_a_pool_is_the_conclusion(staff):
    reported = "pgbench: error: connection to server failed: FATAL:  remaining connection slots are reserved\n"
    reported += "pgbench: error: could not create connection for client 97\n"
    options = {"clients": 150, "threads": 1}
    failed = {"status": Status.FAILED, "validity": Validity.INCOMPLETE, "summary": {}, "exit_code": 1}
    refused = a_finished_run(0, options=options, **failed)
    refused.output.stderr = reported
    refused.output.save()
    carried = a_finished_run(options=options, pooled=True)
    text = page_of(staff.get(COMPARE, {"run": [refused.pk, carried.pk]}))
    assert "The server refused 53 of 150 clients: remaining connection slots are reserved." in text
    assert "The pool carried 150 clients at 6,396 tps." in text


def test_a_group_is_compared_by_its_id_alone(staff):
    group = uuid4()
    runs = [a_finished_run(group=group), a_finished_run(group=group, pooled=True)]
    a_finished_run()
    assert staff.get(COMPARE, {"group": group}).context["runs"] == runs


def test_settings_that_differ_are_named(staff):
    first, second = a_finished_run(options={"clients": 10}), a_finished_run(options={"clients": 50})
    assert "clients (10, 50)" in page_of(staff.get(COMPARE, {"run": [first.pk, second.pk]}))


def test_runs_with_several_numbers_of_clients_are_a_chart_and_a_table(staff):
    runs = [
        a_finished_run(options={"clients": clients}, summary={"tps": tps, "latency_avg_ms": 1000 * clients / tps})
        for clients, tps in ((1, 900.0), (4, 3000.0), (16, 3050.0))
    ]
    answer = staff.get(COMPARE, {"run": [run.pk for run in runs]})
    text = page_of(answer)
    assert "Throughput of direct is highest with 16 clients: 3,050 tps, average latency 5.25 ms." in text
    assert "4 clients already reach 98 % of that, with an average latency of 1.33 ms." in text
    assert text.count('class="sweep-dot"') == 6
    assert '<td class="pd-number">16</td>' in text
    assert "2 arms by direct, clients 1" in text


def test_runs_with_one_number_of_clients_have_no_sweep(staff):
    runs = [a_finished_run(options={"clients": 4}), a_finished_run(options={"clients": 4}, pooled=True)]
    answer = staff.get(COMPARE, {"run": [run.pk for run in runs]})
    assert answer.context["sweep"] is None
    assert '<div id="sweep"></div>' in page_of(answer)  # The poll replaces it by its id.


def test_another_load_program_is_named(staff):
    first, second = a_finished_run(options={"threads": 2}), a_finished_run(options={"threads": 2}, engine="sysbench")
    assert "load program (pgbench, sysbench)" in page_of(staff.get(COMPARE, {"run": [first.pk, second.pk]}))


def test_too_few_runs_lead_to_a_choice(staff):
    run = a_finished_run(name="lonely")
    for asked in ([], [run.pk], [run.pk, uuid4()], ["x", run.pk]):
        answer = staff.get(COMPARE, {"run": asked})
        assert answer.status_code == 200
        assert "Choose two or more" in page_of(answer)


def test_nothing_to_compare_says_the_next_step(staff):
    assert "Nothing to compare yet" in page_of(staff.get(COMPARE))


def test_readers_may_compare(reader):
    runs = [a_finished_run(), a_finished_run()]
    assert reader.get(COMPARE, {"run": [run.pk for run in runs]}).status_code == 200


def test_a_comparison_takes_the_same_queries_for_two_refused_runs_and_four(staff):
    failed = {"status": Status.FAILED, "validity": Validity.INCOMPLETE}

    def queries(count):
        return queries_of(staff, COMPARE + "?" + "&".join(f"run={a_finished_run(**failed).pk}" for _ in range(count)))

    each = 2  # the length of its line, and the samples
    assert queries(4) == queries(2) + 2 * each


def test_the_choice_takes_the_same_queries_for_one_run_and_three(staff):
    a_finished_run()
    one = queries_of(staff, COMPARE)
    a_finished_run(), a_finished_run()
    assert queries_of(staff, COMPARE) == one


def test_a_run_that_goes_on_is_not_judged_and_the_page_follows_it(staff):
    first, second = a_finished_run(), a_run(2, status=Status.RUNNING)
    text = page_of(staff.get(COMPARE, {"run": [first.pk, second.pk]}))
    assert "not ended" in text
    assert 'hx-trigger="every 3s"' in text
    done = page_of(staff.get(COMPARE, {"run": [first.pk, a_finished_run().pk]}))
    assert 'hx-trigger="every 3s"' not in done


def test_many_differences_are_folded_under_their_count(staff):
    options = {"clients": 9, "threads": 3, "duration": 9, "progress": 3, "protocol": "extended", "rate": 7}
    one, other = a_finished_run(), a_finished_run(options=options)
    text = page_of(staff.get(COMPARE, {"run": [one.pk, other.pk]}))
    assert re.search(r"<summary[^>]*>Runs differ in \d+ options", text)


@pytest.mark.parametrize(("percent", "verdict"), [(3, "no difference shown"), (1, "faster")])
def test_the_tie_band_is_that_of_the_settings(staff, settings, percent, verdict):
    settings.TIE_BAND_PERCENT = percent
    runs = [*repeats({}, 1000.0, 1001.0, 999.0), *repeats({"pooled": True}, 1020.0, 1021.0, 1019.0)]
    answer = staff.get(COMPARE, {"run": [run.pk for run in runs]})
    assert [one["verdict"] for one in answer.context["arms"]] == [None, verdict]


def test_a_run_of_enough_samples_shows_the_error_of_its_mean(staff):
    long, short = a_finished_run(64), a_finished_run(59)
    tps = ([1000, 1200] * 4 + [1100, 1300] * 4) * 4
    rows = [*long.samples.order_by("t")]
    for row, row.tps in zip(rows, tps, strict=True):
        row.save(update_fields=["tps"])
    text = page_of(staff.get(COMPARE, {"run": [long.pk, short.pk]}))
    # batches of 1,100 and 1,200 tps in turn: 2.365 times 53.45 / √8 of 1,150
    assert re.findall(r"±([\d.]+) % within the run", text) == ["3.9"]
