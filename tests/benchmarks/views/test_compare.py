"""The comparison's page."""

import json
import re
from uuid import uuid4

from benchmarks.models import Status, Validity
from tests.benchmarks.records import a_finished_run, a_run
from tests.callers import queries_of
from tests.pools.records import a_pool

COMPARE = "/runs/compare/"


def test_two_runs_on_one_clock_with_ratios_to_the_first(staff):
    first, second = (
        a_finished_run(2),
        a_finished_run(3, pool=a_pool(), summary={"tps": 12792.36, "latency_avg_ms": 0.75}),
    )
    answer = staff.get(COMPARE, {"run": [first.pk, second.pk]})
    text = answer.content.decode()
    assert answer.context["runs"] == [first, second]
    assert '<span class="compare-ratio compare-better">×2.00 · better</span>' in text
    courses = json.loads(re.search(r'id="courses-rows" type="application/json">(.*?)</script>', text, re.DOTALL)[1])
    assert [(course["label"], len(course["samples"]["rows"])) for course in courses] == [
        (f"run {first.number} (direct)", 2),
        (f"run {second.number} (pooled)", 3),
    ]
    assert "varies about ±8 % from run to run" in text


def test_the_order_asked_for_is_kept_and_repeats_count_once(staff):
    first, second = a_finished_run(), a_finished_run()
    answer = staff.get(COMPARE, {"run": [second.pk, first.pk, second.pk]})
    assert answer.context["runs"] == [second, first]


def test_runs_ticked_in_a_list_are_measured_by_the_oldest(staff):
    first, second = a_finished_run(), a_finished_run()
    answer = staff.get(COMPARE, {"run": [second.pk, first.pk], "oldest": "first"})
    assert answer.context["runs"] == [first, second]


def test_an_invalid_run_is_flagged(staff):
    first, second = a_finished_run(), a_finished_run(validity=Validity.SUSPECT)
    text = staff.get(COMPARE, {"run": [first.pk, second.pk]}).content.decode()
    assert f"Run {second.number} (direct) is not compared with run {first.number} (direct)" in text
    assert "not comparable" in text
    assert "compare-better" not in text


def test_settings_that_differ_are_named(staff):
    first, second = a_finished_run(options={"clients": 10}), a_finished_run(options={"clients": 50})
    assert "clients (10, 50)" in staff.get(COMPARE, {"run": [first.pk, second.pk]}).content.decode()


def test_another_load_program_is_named(staff):
    first, second = a_finished_run(options={"threads": 2}), a_finished_run(options={"threads": 2}, engine="sysbench")
    assert "load program (pgbench, sysbench)" in staff.get(COMPARE, {"run": [first.pk, second.pk]}).content.decode()


def test_too_few_runs_lead_to_a_choice(staff):
    run = a_finished_run(name="lonely")
    for asked in ([], [run.pk], [run.pk, uuid4()], ["x", run.pk]):
        answer = staff.get(COMPARE, {"run": asked})
        assert answer.status_code == 200
        assert "Choose two or more" in answer.content.decode()


def test_nothing_to_compare_says_the_next_step(staff):
    assert "Nothing to compare yet" in staff.get(COMPARE).content.decode()


def test_readers_may_compare(reader):
    runs = [a_finished_run(), a_finished_run()]
    assert reader.get(COMPARE, {"run": [run.pk for run in runs]}).status_code == 200


def test_the_choice_takes_the_same_queries_for_one_run_and_three(staff):
    a_finished_run()
    one = queries_of(staff, COMPARE)
    a_finished_run(), a_finished_run()
    assert queries_of(staff, COMPARE) == one


def test_a_run_that_goes_on_is_not_judged_and_the_page_follows_it(staff):
    first, second = a_finished_run(), a_run(2, status=Status.RUNNING)
    text = staff.get(COMPARE, {"run": [first.pk, second.pk]}).content.decode()
    assert f"Run {second.number} (direct) is not compared with run {first.number} (direct) yet" in text
    assert 'hx-trigger="every 3s"' in text
    done = staff.get(COMPARE, {"run": [first.pk, a_finished_run().pk]}).content.decode()
    assert 'hx-trigger="every 3s"' not in done


def test_many_differences_are_folded_under_their_count(staff):
    options = {"clients": 9, "threads": 3, "duration": 9, "progress": 3, "protocol": "extended", "rate": 7}
    one, other = a_finished_run(), a_finished_run(options=options)
    text = staff.get(COMPARE, {"run": [one.pk, other.pk]}).content.decode()
    assert re.search(r"<summary[^>]*>Not the same in all: \d+ options", text)
