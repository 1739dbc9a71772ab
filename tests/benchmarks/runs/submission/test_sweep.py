"""What a sweep over clients refuses, and the loads that it plans; with servers: tests/live/benchmarks."""

from typing import Any, cast

import pytest

from benchmarks.errors import InvalidOptions, InvalidSweep
from benchmarks.models import Ceiling, Holder, Run
from benchmarks.results import comparisons
from benchmarks.runs.submission import submit, sweep
from benchmarks.runs.submission.submit import RunRequest
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler


def test_a_comparison_shows_all_runs_of_a_sweep():
    assert sweep.MOST_RUNS == comparisons.AT_MOST


@pytest.mark.parametrize(
    ("text", "numbers"), [("", []), ("1, 2,4", [1, 2, 4]), ("1 2  4", [1, 2, 4]), (" 8,\n16 ", [8, 16])]
)
def test_numbers_are_read_with_commas_or_blanks(text: str, numbers: list[int]):
    assert sweep.read(text) == numbers


@pytest.mark.parametrize("text", ["a", "1, -2", "1.5, 2", "1-8", "²", "1" * 10])
def test_what_is_no_whole_number_is_refused_with_an_example(text: str):
    with pytest.raises(InvalidSweep, match="whole numbers of clients with commas between them, such as 1, 2, 4, 8"):
        sweep.read(text)


@pytest.mark.parametrize("engine", ["pgbench", "sysbench", "http", "jmeter"])
def test_each_load_program_has_clients_to_sweep_over(engine: str):
    counted = sweep.check([1, 2], engine=engine, purpose="load", runs_each=1)
    assert counted == {"sysbench": "threads", "http": "concurrency"}.get(engine, "clients")


@pytest.mark.parametrize(
    ("clients", "runs_each", "purpose", "reason"),
    [
        ([4], 1, "load", "give 2 to 12 different numbers"),
        ([4, 4], 1, "load", "give 2 to 12 different numbers"),
        (list(range(1, 14)), 1, "load", "give 2 to 12 different numbers"),
        ([1, 2, 4, 8], 16, "load", "4 steps with 16 runs each are 64 runs, and a comparison shows at most 60"),
        ([1, 2], 1, "prepare", "only a load has clients"),
    ],
)
def test_steps_that_can_not_be_compared_are_refused(clients: list[int], runs_each: int, purpose: str, reason: str):
    with pytest.raises(InvalidSweep, match=reason):
        sweep.check(clients, engine="pgbench", purpose=purpose, runs_each=runs_each)


def test_the_options_of_each_step_have_no_more_threads_than_clients():
    options = {"clients": 10, "threads": 4, "duration": 5}
    assert sweep.options_of("pgbench", options, "clients", [2, 8]) == [
        {"clients": 2, "threads": 2, "duration": 5},
        {"clients": 8, "threads": 4, "duration": 5},
    ]


def test_each_second_repeat_is_turned_round():
    direct, pooled, few, many = cast("Any", ("direct", "pooled", {"clients": 1}, {"clients": 8}))
    loads = [(pooled, few), (pooled, many)]
    assert list(submit._planned(None, loads, 2)) == [(pooled, few), (pooled, many), (pooled, many), (pooled, few)]
    assert list(submit._planned(direct, loads[:1], 2)) == [(direct, few), (pooled, few), (pooled, few), (direct, few)]


@pytest.mark.django_db
def test_a_step_above_a_ceiling_is_refused_at_the_sweep_before_anything_is_asked():
    pool = make_pool(make_cluster(), make_pooler())
    Ceiling.objects.create(holder=Holder.EVERYONE, clients=100)
    asked: Any = {"target": {"pool": str(pool.pk)}, "author": None, "sweep_clients": [1, 200]}
    with pytest.raises(InvalidSweep, match="200 is above the run limit of 100") as refusal:
        submit.submit(RunRequest(**asked, options={"duration": 1}))
    assert list(refusal.value.errors) == ["sweep_clients"]
    with pytest.raises(InvalidOptions) as other:
        submit.submit(RunRequest(**asked, options={"duration": 0}))
    assert list(other.value.errors) == ["duration"]
    assert not Run.objects.exists()
