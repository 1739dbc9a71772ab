"""A run whose generators lack a file of their hosts is refused; one of any goes to those that have it."""

from typing import Any

import pytest

from benchmarks.errors import InvalidOptions
from benchmarks.generators import host_files
from benchmarks.models import Run, Status
from benchmarks.runs.submission import dispatch, in_flight, queue_status

pytestmark = pytest.mark.django_db
ENGINES = {"jmeter": "5.6", "sysbench": "1.0"}
PLAN = {"plan": "a.jmx"}


@pytest.fixture
def three(seen) -> None:
    """One that has the plan, one whose plan must not be run, one without it; and two others."""
    seen("fine", engines=ENGINES, files={"jmeter": {"a.jmx": ""}, "sysbench": {"tpcc.lua": ""}})
    seen("bad", engines=ENGINES, files={"jmeter": {"a.jmx": "a listener"}, "sysbench": {"tpcc.lua": "no scripts"}})
    seen("without", engines=ENGINES, files={"jmeter": {"b.jmx": ""}, "sysbench": {"tpcc.lua": "no scripts"}})
    seen("bare", engines={"pgbench": "15.18"}, files={"jmeter": {}})
    seen("new")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The generators that runs were sent to; empty for whoever comes first."""
    found: list[str] = []
    monkeypatch.setattr(dispatch, "dispatch", lambda run, to="": found.append(run.generator or to) or True)
    return found


def refusals(generators: list[str], engine: str = "jmeter", **options: Any) -> dict[str, list[str]]:
    with pytest.raises(InvalidOptions) as refused:
        host_files.check(engine, options or PLAN, generators)
    return refused.value.errors


@pytest.mark.parametrize("names", [["fine"], ["any"], [], ["new"], ["fine", "new"], ["unheard"]])
def test_what_the_named_or_one_of_any_has_is_taken(three: None, names: list[str]) -> None:
    host_files.check("jmeter", PLAN, names)
    host_files.check("sysbench", {"script": "tpcc"}, names)


def test_each_that_is_named_must_have_it(three: None) -> None:
    assert refusals(["fine", " bad ", "without"]) == {
        "plan": [
            "a.jmx of generator 'bad' can't be used: a listener",
            "generator 'without' has no a.jmx: use b.jmx, or put it there into the folder POOLDECK_JMETER_PLANS",
        ]
    }
    assert refusals(["bad"], "sysbench", kind="tpcc") == {
        "kind": ["tpcc.lua of generator 'bad' can't be used: no scripts"]
    }


def test_any_is_refused_where_none_of_those_that_have_the_engine_has_it(seen) -> None:
    seen("bad", engines=ENGINES, files={"jmeter": {"a.jmx": "a listener"}})
    seen("bare", engines={"pgbench": "15.18"}, files={"jmeter": {"a.jmx": ""}})
    assert refusals([]) == {"plan": ["a.jmx of generator 'bad' can't be used: a listener"]}


def test_where_nobody_lives_a_run_may_wait_for_who_comes(seen) -> None:
    seen("gone", ago_s=60, engines=ENGINES, files={"jmeter": {}})
    host_files.check("jmeter", PLAN)


def test_a_load_without_files_is_not_asked_about(three: None) -> None:
    host_files.check("sysbench", {"script": "oltp_read_only"}, ["without"])


def test_a_run_of_any_is_sent_to_one_that_has_engine_and_file(seen, sent: list[str]) -> None:
    seen("bad", engines=ENGINES, files={"jmeter": {"a.jmx": "a listener"}})
    seen("fine", engines=ENGINES, files={"jmeter": {"a.jmx": ""}})
    run = Run.objects.enqueue(engine="jmeter", options=PLAN)
    assert dispatch.dispatch_new(run)
    in_flight.end(run.pk)
    dispatch.dispatch_due()
    assert sent == ["fine", "fine"]
    in_flight.end(run.pk)
    Run.objects.enqueue(status=Status.RUNNING, generator="fine")
    assert not dispatch.dispatch_new(run)
    dispatch.dispatch_due()
    assert sent == ["fine", "fine"]
    assert queue_status.waits_for(run).sentences == ["waits for run 2 on generator fine"]  # type: ignore[union-attr]


def test_a_new_run_goes_to_one_that_is_idle_or_to_the_one_it_names(seen, sent: list[str]) -> None:
    seen("east", engines={"pgbench": "15.18"})
    seen("west")
    dispatch.dispatch_new(Run.objects.enqueue())
    dispatch.dispatch_new(Run.objects.enqueue(generator="west", wanted_generators=["west"]))
    assert sent == ["east", "west"]


def test_a_run_whose_file_is_gone_from_all_says_so(seen) -> None:
    seen("bad", engines=ENGINES, files={"jmeter": {"a.jmx": "a listener"}})
    run = Run.objects.enqueue(engine="jmeter", options=PLAN)
    assert queue_status.waits_for(run).sentences == ["a.jmx of generator 'bad' can't be used: a listener"]  # type: ignore[union-attr]
