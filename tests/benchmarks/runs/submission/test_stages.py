"""Stages belong to single runs on one generator: what has several runs or several of these refuses them."""

import pytest

from benchmarks.engines import ENGINES
from benchmarks.errors import InvalidOptions
from benchmarks.experiments.advice import workload
from benchmarks.runs.submission import split, submit
from benchmarks.runs.submission.submit import RunRequest
from tests.benchmarks.records import the_options

ASKED = [{"duration_s": 2, "clients": 4}]
SINGLE = "only a single run has stages: leave them out, or start it without a pair, a sweep or an experiment"


@pytest.mark.parametrize("several", [{"pair": True}, {"sweep_clients": [1, 2]}])
def test_several_runs_have_none(several) -> None:
    asked = RunRequest(target={}, options={"stages": ASKED}, author=None, **several)
    with pytest.raises(InvalidOptions) as caught:
        submit.submit(asked)
    assert caught.value.errors == {"stages": [SINGLE]}


def test_several_generators_have_none() -> None:
    with pytest.raises(InvalidOptions) as caught:
        split.shares("pgbench", the_options(stages=ASKED), 2)
    assert caught.value.errors == {
        "stages": ["a load with stages runs on one generator: name one, or leave out the stages"]
    }


def test_an_advice_has_none(db) -> None:
    with pytest.raises(InvalidOptions) as caught:
        workload.read({"stages": ASKED})
    assert caught.value.errors == {"stages": ["only a single run has stages: leave them out"]}


@pytest.mark.parametrize("engine", sorted(set(ENGINES) - {"pgbench"}))
def test_other_engines_have_none(engine) -> None:
    names = [field.name for field in ENGINES[engine].fields_for("load")]
    assert "stages" not in names
    assert ENGINES[engine].stages({}) == [{}]
