"""The pages on which advice on a pool is asked for."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.experiments import resources, start
from benchmarks.experiments.advice import answers, grid, sweep
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.library.scripts import library
from benchmarks.models import (
    Experiment,
    ExperimentState,
    ResourceKind,
)
from pools.models import Pool
from tests.benchmarks.records import a_run, the_options
from tests.benchmarks.views.advice_records import ASKED, FIGURES, a_pool, an_advice
from tests.pages import page_of
from tests.pools import records
from tests.pools.records import checked


def test_a_question_starts_a_sweep(staff, queued: None) -> None:
    pool = a_pool(size=4)
    assert "selected>Direct or pooled?" in page_of(staff.get(f"/experiments/advice/{pool.pk}/?question=pooling"))
    answer = staff.post(f"/experiments/advice/{pool.pk}/", ASKED)
    experiment = Experiment.objects.get()
    assert answer["Location"] == f"/experiments/{experiment.pk}/"
    assert (experiment.advice["question"], experiment.advice["pool"]) == ("size", str(pool.pk))
    assert json.loads(json.dumps(experiment.dataset)) == {"scale": 1}
    assert "advice on a pool" in page_of(staff.get("/experiments/"))


def test_bad_values_are_refused_and_start_nothing(staff, queued: None) -> None:
    answer = staff.post(f"/experiments/advice/{a_pool().pk}/", ASKED | {"minutes": 0})
    assert answer.status_code == 400
    assert Experiment.objects.count() == 0


def test_a_script_of_the_library_is_chosen_like_a_built_in_one(staff, queued: None) -> None:
    version = library.newest(library.create(name="orders", text="SELECT 1;"))
    answer = staff.post(f"/experiments/advice/{a_pool(size=4).pk}/", ASKED | {"builtin": f"version:{version.pk}"})
    assert answer.status_code == 302, page_of(answer)
    options = start.arms_of(Experiment.objects.get())[0].options
    assert (options["scripts"][0]["name"], options.get("builtin")) == ("orders", None)


def test_several_scripts_have_weights_and_what_was_typed_stays(staff, queued: None) -> None:
    url = f"/experiments/advice/{a_pool(size=4).pk}/"
    typed = ASKED | {"mix_0_value": "select-only", "mix_0_weight": "3", "mix_1_text": "\\shell ls", "mix_1_weight": "2"}
    page = page_of(staff.post(url, typed))
    assert "\\shell ls</textarea>" in page
    assert 'value="3"' in page
    assert "line 1" in page
    staff.post(url, typed | {"mix_1_text": "SELECT 1;"})
    options = start.arms_of(Experiment.objects.get())[0].options
    assert (options["builtin"], options["scripts"][0]["weight"]) == ("select-only@3", 2)


def test_the_load_of_a_run_on_the_pool_can_be_chosen_once(staff, queued: None) -> None:
    pool = a_pool(size=4)
    for _ in range(2):
        run = a_run(pool=pool, options=the_options(builtin="simple-update"))
    url = f"/experiments/advice/{pool.pk}/"
    page = page_of(staff.get(url))
    assert "As in a run on this pool" in page
    assert page.count('value="run:') == 1
    assert f'value="run:{run.pk}">run {run.number}: simple-update (weight 1)' in page
    staff.post(url, ASKED | {"builtin": f"run:{run.pk}"})
    assert start.arms_of(Experiment.objects.get())[0].options["builtin"] == "simple-update"


def test_the_pools_database_is_offered_where_the_pool_has_a_user(staff, queued: None) -> None:
    assert ">The pool&#x27;s database<" in page_of(staff.get(f"/experiments/advice/{a_pool().pk}/"))
    assert "Tables to load" not in page_of(staff.get(f"/experiments/advice/{a_pool(user='').pk}/"))


def test_built_in_scripts_on_the_pools_database_are_refused_beside_the_field(staff, queued: None) -> None:
    answer = staff.post(f"/experiments/advice/{a_pool().pk}/", ASKED | {"tables": "existing"})
    page = page_of(answer)
    assert "choose scripts of your own, or the sweep&#x27;s tables" in page
    assert 'value="existing" selected' in page


def test_the_recommendation_comes_first_with_the_knee_and_one_button(staff, queued: None) -> None:
    page = page_of(staff.get(f"/experiments/{an_advice(a_pool(size=10)).pk}/"))
    assert "Use size 4 with a reserve of 1 for 8 clients." in page
    assert page.index("Use size 4") < page.index("<polyline") < page.index("What this could not see")
    assert "nothing was published" not in page
    assert "Published beside measured" not in page


def test_the_pools_of_the_sweep_itself_take_nothing_of_the_budget(staff, queued: None) -> None:
    pool = a_pool(size=10)
    checked(pool.cluster, max_connections=100)
    experiment = an_advice(pool)
    left = answers.of(experiment)["left_of_budget"]
    its_own = {"made_for": resources.maker_of(experiment)}
    swept = records.a_pool(name="pooldeck_experiment_1_p1", cluster=pool.cluster, pooler=pool.pooler, size=8, **its_own)
    experiment.resources.create(kind=ResourceKind.POOL, key="pgbouncer-transaction-8-scram", name=swept.name)
    assert answers.of(experiment)["left_of_budget"] == left == 97 - 4 - 1


def test_cells_of_all_clients_are_answered_and_the_size_is_for_the_expected_ones(staff, queued: None) -> None:
    found = answers.of(an_advice(a_pool(size=10)))
    assert (found["clients"], found["size"]) == (8, 4)
    cells = {(one["size"], one["clients"]): one["tps"] for one in found["cells"]}
    swept = {(size, 8): sum(values) / 2 for size, values in FIGURES.items()}
    assert cells == swept | {(1, 2): 90.5, (2, 2): 95.0, (4, 16): 240.0}
    assert found["cells"][0] == {"size": 1, "clients": 2, "tps": 90.5, "latency_avg_ms": 10.0, "runs": 1}


def test_rounds_end_with_the_minutes(staff, queued: None) -> None:
    experiment = an_advice(a_pool(size=10))
    now = timezone.now()
    experiment.write(started_at=now - timedelta(minutes=2), measuring_at=now - timedelta(minutes=2), step=16)
    assert not sweep.is_out_of_time(experiment)
    assert sweep.add_round(experiment)
    assert experiment.advice["round"] == 2
    kept = {(size, 8) for size in (2, 4, 8)} | {(2, 2), (4, 16)}
    assert {tuple(cell) for cell in experiment.advice["cells"]} == kept
    assert sorted(key for block in experiment.plan[2:] for key in block) == sorted(
        [*(f"8-{size}" for size in (2, 4, 8)), *(f"8-{size}" for size in (2, 4, 8)), "2-2", "16-4"]
    )
    experiment.write(started_at=now - timedelta(minutes=4, seconds=25))
    assert not sweep.is_out_of_time(experiment)
    assert not sweep.add_round(experiment)
    experiment.write(started_at=now - timedelta(minutes=5))
    assert sweep.is_out_of_time(experiment)


@pytest.mark.parametrize("question", ["mode", "pooling"])
def test_two_arms_end_with_the_block_that_still_fits_the_minutes(queued: None, db: None, question: str) -> None:
    pool = a_pool(size=4)
    asked = {"question": question, "minutes": 2, "workload": {"connect": True}}  # of which pooling has two arms too
    experiment = sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, **asked))
    began = timezone.now() - timedelta(seconds=80)  # 20 s a run: another block of two runs would end at 120 s
    experiment.write(started_at=began, measuring_at=began)
    ends = {}
    for step in range(6):
        experiment.write(step=step)
        ends[step] = sweep.is_out_of_time(experiment)
    assert ends == {0: False, 1: False, 2: True, 3: False, 4: True, 5: False}
    experiment.write(step=6)
    assert not sweep.is_out_of_time(experiment)  # two more runs of 13.3 s
    assert not sweep.add_round(experiment)


@pytest.mark.parametrize("set_up_s", [5, 15, 30])
@pytest.mark.parametrize("run_s", [4, 5.5, 8])
def test_a_first_answer_ends_within_its_minute_however_long_a_run_takes(
    queued: None, db: None, monkeypatch: pytest.MonkeyPatch, set_up_s: float, run_s: float
) -> None:
    pool = a_pool(size=4)
    asked = {"question": "pooling", "minutes": 1, "workload": {"scale": 1}}
    experiment = sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, **asked))
    began, elapsed_s = timezone.now(), set_up_s
    experiment.write(started_at=began, measuring_at=began + timedelta(seconds=set_up_s))
    monkeypatch.setattr(timezone, "now", lambda: began + timedelta(seconds=elapsed_s))
    while experiment.step < len(experiment.plan) * 2 and not sweep.is_out_of_time(experiment):
        elapsed_s += run_s
        experiment.step += 1
    assert elapsed_s + grid.ENDING_S <= 60
    assert experiment.step >= 2 * min(6, (60 - set_up_s - grid.ENDING_S) // (2 * run_s) - 1)  # and spends it


def test_two_arms_that_the_minutes_cut_short_say_so(queued: None, db: None) -> None:
    pool = a_pool(size=4)
    experiment = sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, question="mode", minutes=2))
    experiment.write(step=8, state=ExperimentState.SUCCEEDED)
    assert answers.limits(experiment)[0].startswith("4 of 6 blocks fitted the minutes")
    experiment.write(step=12)
    assert "blocks" not in answers.limits(experiment)[0]


def test_both_modes_are_measured_with_pools_of_one_size(queued: None, db: None) -> None:
    pool = a_pool(size=60)
    checked(pool.cluster, max_connections=100)
    experiment = sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, question="mode"))
    assert {arm.endpoint.size for arm in start.arms_of(experiment)} == {(97 - 60) // 2}
    note = f"The pool of 60 has 18 connections here: the budget of {pool.cluster} has no more left."
    assert experiment.notes == [note]


def test_a_budget_without_a_connection_left_is_named(queued: None, db: None) -> None:
    pool = a_pool(size=97)
    checked(pool.cluster, max_connections=100)
    for question in sweep.QUESTIONS:
        with pytest.raises(InvalidExperiment) as refused:
            sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, question=question))
        assert list(refused.value.errors) == ["cluster"]


@pytest.mark.parametrize("name", ["clients", "scale"])
def test_a_workload_of_no_number_is_refused_by_its_name(staff, queued: None, name: str) -> None:
    pool = a_pool()
    with pytest.raises(InvalidExperiment) as refused:
        sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, workload={name: "many"}))
    assert refused.value.errors == {name: ["many is not a number of them: enter a whole number from 1"]}


def test_readers_neither_ask_nor_apply(reader, queued: None) -> None:
    experiment = an_advice(a_pool())
    assert reader.get(f"/experiments/advice/{experiment.advice['pool']}/").status_code == 403
    assert reader.post(f"/experiments/{experiment.pk}/apply/").status_code == 403


def test_the_recorded_mix_is_offered_and_its_refusal_loses_nothing(staff, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pool: Pool) -> None:
        raise InvalidExperiment({"workload": ["the extension pg_stat_statements is not installed"]})

    monkeypatch.setattr("benchmarks.experiments.advice.recorded.read", refuse)
    answer = staff.post(f"/experiments/advice/{a_pool().pk}/", ASKED | {"builtin": "recorded", "minutes": 7})
    text = page_of(answer)
    assert answer.status_code == 400
    assert "the extension pg_stat_statements is not installed" in text
    assert '<option value="recorded" selected>' in text
    assert 'value="7"' in text
