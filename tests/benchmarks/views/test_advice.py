"""The pages of advice on a pool."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.api.experiment_serializers import ExperimentSerializer
from benchmarks.experiments import results, start
from benchmarks.experiments.advice import answers, grid, sweep
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.report import advice, files, heat_map, knee, presentation
from benchmarks.experiments.report.heat_map import HeatCell
from benchmarks.experiments.results import Result
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.library.scripts import library
from benchmarks.models import (
    Ceiling,
    Experiment,
    ExperimentState,
    Holder,
    Phase,
    PoolSample,
    ResourceKind,
    RunOutput,
    Status,
    Validity,
)
from pools.inventory import pools
from pools.models import Pool
from tests.benchmarks.experiments.records import REFUSAL
from tests.benchmarks.records import a_finished_run, a_run, the_options
from tests.pages import page_of
from tests.pools import records
from tests.pools.records import a_cluster, checked

ASKED = {"question": "size", "builtin": "tpcb-like", "clients": 8, "scale": 1, "minutes": 5, "tables": "own"}
FIGURES = {1: [100, 101], 2: [180, 178], 4: [260, 261], 8: [262, 263]}
OTHERS = {"2-1": 90.5, "2-2": 95.0, "16-4": 240.0}  # clients and size


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that takes everything."""
    monkeypatch.setattr("benchmarks.experiments.advice.sweep.require_queue", lambda: None)
    monkeypatch.setattr("benchmarks.experiments.dispatch.request_advance", lambda: None)


def a_pool(**fields: object) -> Pool:
    """A pool of a cluster that needs no typed confirmation."""
    return records.a_pool(cluster=a_cluster(protected=False), **fields)


def an_advice(pool: Pool) -> Experiment:
    """A sweep of sizes that has ended with its recommendation."""
    request = AdviceRequest(cluster=pool.cluster, pool=pool, author=None, workload={"clients": 8, "scale": 1})
    experiment = sweep.ask(request)
    for block in range(2):
        for size, values in FIGURES.items():
            summary = {"tps": values[block], "latency_avg_ms": 8000 / values[block]}
            a_measured_cell(experiment, f"8-{size}", summary)
    for arm, tps in OTHERS.items():
        a_measured_cell(experiment, arm, {"tps": tps, "latency_avg_ms": 10.0})
    ended = {"state": ExperimentState.SUCCEEDED, "outcome": ExperimentState.SUCCEEDED, "phase": Phase.TEARDOWN}
    experiment.write(advice=experiment.advice | {"recommendation": answers.of(experiment)}, **ended)
    return experiment


def a_measured_cell(experiment: Experiment, arm: str, summary: dict[str, float]) -> None:
    """A valid run of a cell."""
    fields = {"experiment": experiment, "arm": arm, "group": experiment.pk, "target_label": arm}
    a_finished_run(0, summary=summary, cluster=experiment.cluster, options={"clients": 8}, **fields)


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
    swept = records.a_pool(name="pooldeck_experiment_1_p1", cluster=pool.cluster, pooler=pool.pooler, size=8)
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


def test_the_button_gives_the_pool_its_size_and_reserve(staff, queued: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = a_pool(size=10, settings={"min_pool_size": "1"})
    given = []
    monkeypatch.setattr(pools, "change", lambda *asked: given.append(asked[:3]))
    experiment = an_advice(pool)
    answer = staff.post(f"/experiments/{experiment.pk}/apply/")
    assert answer["Location"] == f"/pools/{pool.pk}/"
    assert given == [(pool, {"size": 4, "settings": {"min_pool_size": "1", "reserve_pool": "1"}}, None)]


def a_verdict(question: str, figures: dict[str, list[float]]) -> Result:
    """Two arms compared, by the tps of their runs; none: refused by the server."""
    pool = a_pool(size=4)
    experiment = sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, question=question))
    for arm, values in figures.items():
        for tps in values:
            a_measured_cell(experiment, arm, {"tps": tps, "latency_avg_ms": 10.0})
    return results.of(experiment)


def test_the_conclusion_is_the_answer(queued: None, db: None) -> None:
    experiment = an_advice(a_pool(size=10))
    text = presentation.conclusion(results.of(experiment))
    assert text == (
        "Use size 4 with a reserve of 1 for 8 clients. Every resampling of the runs gives this size. "
        "Size 8 has the highest mean throughput of the measured sizes: 262 tps."
    )
    assert json.loads(files.as_json(experiment))["conclusion"] == text
    assert ExperimentSerializer(experiment).data["conclusion"] == text


ALIKE, LESS, MORE = [100, 102, 99, 101, 100], [50, 52, 51, 49, 50], [100, 101, 102, 100, 99]


@pytest.mark.parametrize(
    ("question", "figures", "begins"),
    [
        (
            "pooling",
            {"kept-direct": LESS, "kept-pooled": MORE},
            "“kept connections, pooled” is faster than “kept connections, direct”: ×1.99 (95",
        ),
        (
            "pooling",
            {"reconnecting-direct": ALIKE, "reconnecting-pooled": MORE},
            "No gain shown: “reconnecting clients, pooled” is ×1.00 of “reconnecting clients, direct” (95 % interval",
        ),
        ("mode", {"session": MORE, "transaction": LESS}, "“transaction” is slower than “session”: ×0.50"),
        ("mode", {"session": ALIKE, "transaction": MORE}, "No difference shown: “transaction” is ×1.00 of “session”"),
        ("mode", {"session": [100], "transaction": [101]}, "There are not enough valid runs to compare “transaction”"),
        ("mode", {}, ""),
    ],
)
def test_the_conclusion_of_other_questions_is_their_verdict(
    queued: None, db: None, question: str, figures: dict[str, list[float]], begins: str
) -> None:
    text = presentation.conclusion(a_verdict(question, figures))
    assert text.startswith(begins), text
    assert bool(text) == bool(begins)


def test_a_refused_arm_is_an_answer(queued: None, db: None) -> None:
    result = a_verdict("pooling", {"kept-pooled": MORE})
    fields = {"arm": "kept-direct", "status": Status.FAILED, "validity": Validity.INCOMPLETE, "summary": {}}
    run = a_finished_run(0, experiment=result.experiment, group=result.experiment.pk, error="failed", **fields)
    RunOutput.objects.filter(run=run).update(stderr=REFUSAL)
    text = presentation.conclusion(results.of(result.experiment))
    refused = "“kept connections, direct”: the server refused some of 10 clients: sorry, too many clients already."
    assert text.startswith(f"{refused} “kept connections, pooled” carried the load at 100 tps.")


def test_nothing_is_applied_before_the_end_or_without_the_pool(
    staff, queued: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "change", lambda *asked: pytest.fail("nothing may change"))
    experiment = an_advice(a_pool(size=10))
    experiment.write(state=ExperimentState.RUNNING)
    assert staff.post(f"/experiments/{experiment.pk}/apply/")["Location"] == f"/experiments/{experiment.pk}/"
    experiment.write(state=ExperimentState.SUCCEEDED)
    Pool.objects.all().delete()
    assert staff.post(f"/experiments/{experiment.pk}/apply/")["Location"] == f"/experiments/{experiment.pk}/"


def test_readers_neither_ask_nor_apply(reader, queued: None) -> None:
    experiment = an_advice(a_pool())
    assert reader.get(f"/experiments/advice/{experiment.advice['pool']}/").status_code == 403
    assert reader.post(f"/experiments/{experiment.pk}/apply/").status_code == 403


def test_the_heat_map_shows_each_cell_and_what_was_not_measured(staff, queued: None) -> None:
    experiment = an_advice(a_pool(size=10))
    shown = presentation.show(experiment)
    assert shown.advice is not None
    heat = shown.advice.heat
    assert heat is not None
    assert (heat.clients, heat.expected, [size for size, _ in heat.rows]) == ((2, 8, 16), 8, [1, 2, 4, 6, 8])
    rows = dict(heat.rows)
    assert rows[4] == (
        HeatCell(2, is_possible=False),
        HeatCell(8, 260.5, pytest.approx(8000 / 260.5, rel=0.01), color=4, is_recommended=True),
        HeatCell(16, 240.0, 10.0, color=4, is_best=True),
    )
    assert [cell.color for cell in rows[2]] == [4, 1, None]
    assert [cell.is_best for cell in rows[8]] == [False, True, False]
    page = page_of(staff.get(f"/experiments/{experiment.pk}/"))
    for part in ("A dash is a pool with more connections than clients", "“Not measured” is a cell", "recommended"):
        assert part in page
    assert "<style>" not in page
    report = files.as_html(experiment).decode()
    assert "heat-map" in report
    assert ".curve { fill: none" in report[report.index("<svg") :]  # WeasyPrint draws with styles inside the SVG only


def test_the_csv_report_has_the_cells_of_a_sweep(queued: None, db: None) -> None:
    experiment = an_advice(a_pool(size=10))
    rows = {row["key"]: row for row in csv.DictReader(io.StringIO(files.as_csv(experiment).decode()))}
    assert {key: row["is_recommended"] for key, row in rows.items() if row["is_recommended"]} == {
        **{f"8-{size}": "no" for size in FIGURES},
        **dict.fromkeys(OTHERS, "no"),
        "8-4": "yes",
    }
    four = [rows["8-4"][name] for name in ("clients", "size", "n_valid", "mean_tps", "mean_latency_avg_ms")]
    assert [float(one) for one in four] == [8, 4, 2, 260.5, pytest.approx(8000 / 260.5, rel=0.01)]
    assert rows["16-8"]["mean_tps"] == ""  # This cell was not measured.
    other = a_verdict("mode", {"session": [100]})
    assert "is_recommended" not in files.as_csv(other.experiment).decode()


def test_a_sweep_of_the_expected_clients_alone_says_so_instead_of_a_map(queued: None, db: None) -> None:
    pool = a_pool(size=4)
    workload = {"clients": 8, "scale": 1}
    experiment = sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, workload=workload, minutes=1))
    assert {clients for _size, clients in sweep.planned_cells(experiment)} == {8}
    assert "Fewer and more clients than expected: the minutes were too few to measure them." in answers.limits(
        experiment
    )
    assert heat_map.draw([], sweep.planned_cells(experiment), 8, 4) is None


def test_a_sweep_without_more_clients_says_so(queued: None, db: None) -> None:
    pool = a_pool(size=4)
    experiment = sweep.ask(AdviceRequest(cluster=pool.cluster, pool=pool, author=None, minutes=3))
    assert {clients for _size, clients in sweep.planned_cells(experiment)} == {8, 32}
    assert "More clients than expected: the minutes were too few to measure them." in answers.limits(experiment)


def test_the_knee_chart_marks_the_size_within_the_chart() -> None:
    chart = knee.draw(FIGURES, None, 4, (4, 8))
    assert chart is not None
    assert len(chart.dots) == 8
    assert [label for _, label in chart.size_ticks] == ["1", "2", "4", "8"]
    assert chart.left < chart.mark.x < chart.right
    assert knee.draw({}, None, 4, (4, 8)) is None


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


def test_the_answer_says_what_five_minutes_more_would_add(queued: None, db: None) -> None:
    figures = {"kept-direct": [100, 120, 90, 110, 95], "kept-pooled": [150, 160, 140, 170, 130]}
    result = a_verdict(sweep.POOLING, figures)
    result.experiment.measuring_at = max(run.finished_at for run in result.runs) - timedelta(seconds=60)
    text = presentation.conclusion(result)
    (said,) = re.findall(r"Five minutes more would narrow the interval to about ×([\d.]+) to ×([\d.]+)\.", text)
    interval = next(one.figure.interval for one in result.arms if one.baseline)
    assert interval.low < float(said[0]) < interval.ratio < float(said[1]) < interval.high


def a_pooling_answer(minutes: int, figures: dict[str, float], servers: int) -> str:
    """What is said of a pool of 4 on a server of 100 connections, whose pool had so many server connections."""
    pool = a_pool(size=4)
    checked(pool.cluster, max_connections=100)
    asked = AdviceRequest(cluster=pool.cluster, pool=pool, author=None, question=sweep.POOLING, minutes=minutes)
    experiment = sweep.ask(asked)
    for arm, tps in figures.items():
        a_measured_cell(experiment, arm, {"tps": tps, "latency_avg_ms": 10.0})
    for run in experiment.runs.filter(arm__endswith="pooled"):
        for seq, idle in enumerate((0, 1)):
            figures_then = {"cl_active": 8, "cl_waiting": 24, "sv_active": servers - 1, "sv_idle": idle}
            PoolSample.objects.create(run=run, attempt=run.attempt, seq=seq, t=seq, **figures_then)
    return presentation.conclusion(results.of(experiment))


def test_pooling_is_measured_with_what_pools_are_for(queued: None, db: None) -> None:
    arms = {"kept-direct": 100, "kept-pooled": 90, "reconnecting-direct": 20, "reconnecting-pooled": 80}
    text = a_pooling_answer(5, arms | {"crowd-pooled": 85}, servers=4)
    result = results.of(Experiment.objects.get())
    assert {one.spec.key for one in result.arms if one.is_baseline} == {"kept-direct", "reconnecting-direct"}
    assert {arm.key for arm in start.arms_of(Experiment.objects.get())} == {*arms, "crowd-pooled"}
    options = {arm.key: arm.options for arm in start.arms_of(Experiment.objects.get())}
    assert options["reconnecting-direct"]["connect"] is True
    assert options["crowd-pooled"]["clients"] == 97 + 9
    assert options["crowd-pooled"]["duration"] >= options["kept-pooled"]["duration"]
    assert "The pool served 32 clients with 4 server connections at most (SHOW POOLS)" in text
    assert "Directly, the server lets in 97 clients and refuses more (max_connections)." in text
    assert "The pool carried 106 clients at 85 tps with 4 server connections." in text
    assert "compare “kept connections, pooled”" in text
    assert "compare “reconnecting clients, pooled”" in text


def test_a_minute_measures_reconnecting_clients_and_says_so(queued: None, db: None) -> None:
    text = a_pooling_answer(1, {"reconnecting-direct": 20, "reconnecting-pooled": 80}, servers=4)
    arms = {arm.key for arm in start.arms_of(Experiment.objects.get())}
    assert arms == {"reconnecting-direct", "reconnecting-pooled"}
    assert "One minute measures reconnecting clients only" in text
    assert "lets in 97 clients" in text
    assert "32 clients with 4 server connections" in text


def test_a_ceiling_of_runs_leaves_the_crowd_out(queued: None, db: None) -> None:
    Ceiling.objects.create(holder=Holder.EVERYONE, clients=50)
    arms = {"kept-direct": 100, "kept-pooled": 90}
    assert "More clients than the server lets in were not measured." in a_pooling_answer(5, arms, servers=4)


def test_an_interval_that_ends_at_the_largest_size_tried_says_so() -> None:
    best = {"size": 8, "tps": 262.0}
    found = {"size": 8, "reserve": 1, "interval": [4, 8], "best": best, "clients": 8}
    found |= {"cells": [{"size": 4}, {"size": 8}]}
    assert "ends at the largest size that was tried" in advice._size_sentences(found)[1]
    assert "largest" not in advice._size_sentences(found | {"interval": [2, 4]})[1]
