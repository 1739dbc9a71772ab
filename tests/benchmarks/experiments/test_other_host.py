"""Arms whose load has to come from another host: who runs them, and what is said where nobody can."""

import pytest

from benchmarks.errors import BenchmarksError
from benchmarks.experiments import conclusions, library, other_host, results
from benchmarks.experiments.report import presentation
from benchmarks.models import Generator
from tests.benchmarks.experiments.records import a_measured_experiment, an_experiment

FIGURES = {"10-scram-none": [100, 101, 99], "10-scram-pgpool": [98, 99, 97], "10-scram-pgpool_other": [110, 111, 112]}
OTHER = "10-scram-pgpool_other"

pytestmark = pytest.mark.django_db


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generators on two hosts, the first of which is this one."""
    monkeypatch.setattr("socket.gethostname", lambda: "db7")
    for name, host in (("east", "db8"), ("local", "db7"), ("west", "db8")):
        Generator.objects.create(name=name, host=host, engines={"pgbench": "17"})


def assigned(*asked: str) -> other_host.Assignment:
    spec = library.find("reconnect")
    return other_host.assign(spec, spec.arms(quick=True), asked)


def test_without_another_generator_its_arms_are_left_out_with_the_reason() -> None:
    assert assigned() == other_host.Assignment([], {OTHER: "no generator is alive"})
    Generator.objects.create(name="local", host="db7", engines={"pgbench": "17"})
    reason = "no generator is alive on another host than db7, nor a second one there"
    assert assigned() == other_host.Assignment([], {OTHER: reason})
    assert reason in other_host.describe(library.find("reconnect"))


@pytest.fixture
def one_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two generators on this host, as the demo has."""
    monkeypatch.setattr("socket.gethostname", lambda: "db7")
    for name in ("local", "local-2"):
        Generator.objects.create(name=name, host="db7", engines={"pgbench": "17"})


def test_without_another_host_a_second_generator_runs_its_arms(one_host: None) -> None:
    assert assigned() == other_host.Assignment(["local"])
    assert "but on the same host: by local-2 on db7" in other_host.describe(library.find("reconnect"))
    arm = next(arm for arm in library.find("reconnect").arms(quick=True) if arm.other_host)
    assert other_host.generator_of(an_experiment(generators=["local"]), arm, "pgbench") == "local-2"


def test_an_arm_of_another_host_that_had_none_says_so_and_is_not_held_against_the_source(one_host: None) -> None:
    experiment = a_measured_experiment(FIGURES, skipped={}, generators=["local"])
    experiment.runs.update(generator="local")
    experiment.runs.filter(arm=OTHER).update(generator="local-2")
    result = results.of(experiment)
    (labels,) = {one.spec.label for one in result.arms if one.spec.key == OTHER}
    assert labels.endswith("Pgpool-II, other host (but on the same host)")
    claim = next(claim for claim in conclusions.claims(result) if claim.arms == (OTHER,))
    assert claim.finding == conclusions.Finding.NOT_JUDGED
    assert "published of a load from another host: +7 to +12 %" in claim.text


def test_with_another_host_the_others_generator_is_named(hosts: None) -> None:
    assert assigned() == other_host.Assignment(["local"])
    assert assigned("west") == other_host.Assignment(["west"])
    assert "by east on db8 where the rest is run by local on db7" in other_host.describe(library.find("reconnect"))


def test_its_arms_keep_the_generator_of_their_first_run(hosts: None) -> None:
    experiment = an_experiment(generators=["local"])
    arm = next(arm for arm in library.find("reconnect").arms(quick=True) if arm.other_host)
    assert other_host.generator_of(experiment, arm, "pgbench") == "east"
    experiment = a_measured_experiment(FIGURES, generators=["local"], skipped={})
    experiment.runs.filter(arm=OTHER).update(generator="west")
    assert other_host.generator_of(experiment, arm, "pgbench") == "west"
    Generator.objects.filter(host="db8").delete()
    with pytest.raises(BenchmarksError, match="another host than db7"):
        other_host.generator_of(an_experiment(generators=["local"]), arm, "pgbench")


def test_a_playbook_without_such_arms_runs_anywhere() -> None:
    spec = library.find("burst")
    assert other_host.assign(spec, spec.arms(quick=True), []) == other_host.Assignment([])
    assert other_host.describe(spec) == ""


def test_the_row_of_such_an_arm_names_the_generator_and_its_host(hosts: None) -> None:
    experiment = a_measured_experiment(FIGURES, skipped={})
    experiment.runs.update(generator="local")
    experiment.runs.filter(arm=OTHER).update(generator="east")
    shown = presentation.show(experiment)
    assert {row.arm.spec.key: row.run_by for row in shown.rows if row.run_by} == {OTHER: "east on db8"}
    assert presentation.conditions(experiment)["Generator"] == "local on db7, east on db8"
    assert "Pgpool-II, other host: ×1.11" in conclusions.text_of(results.of(experiment))


def test_one_that_was_left_out_shows_the_published_figure() -> None:
    experiment = a_measured_experiment({key: FIGURES[key] for key in ("10-scram-none", "10-scram-pgpool")})
    row = next(row for row in presentation.show(experiment).rows if row.arm.spec.key == OTHER)
    assert (row.cells[0].measured, row.cells[0].published) == (None, 18.22)
    assert "other host" not in conclusions.text_of(results.of(experiment))
