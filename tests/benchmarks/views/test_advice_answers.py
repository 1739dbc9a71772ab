"""The answers of advice on a pool, on its pages and in its reports."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest

from benchmarks.api.experiment_serializers import ExperimentSerializer
from benchmarks.experiments import results, start
from benchmarks.experiments.advice import answers, sweep
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.report import advice, files, heat_map, knee, presentation
from benchmarks.experiments.report.heat_map import HeatCell
from benchmarks.experiments.results import Result
from benchmarks.models import (
    Ceiling,
    Experiment,
    ExperimentState,
    Holder,
    PoolSample,
    RunOutput,
    Status,
    Validity,
)
from pools.inventory import pools
from pools.models import Pool
from tests.benchmarks.experiments.records import REFUSAL
from tests.benchmarks.records import a_finished_run
from tests.benchmarks.views.advice_records import FIGURES, OTHERS, a_measured_cell, a_pool, an_advice
from tests.pages import page_of
from tests.pools.records import checked


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
