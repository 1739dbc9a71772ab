"""What the start of an experiment says that it would change, and the options that its runs get."""

import pytest

from benchmarks.errors import Unconfirmed
from benchmarks.experiments import library, start
from benchmarks.experiments.start import ExperimentRequest
from benchmarks.runs.submission import options
from tests.callers import person
from tests.pools.records import a_cluster


def test_pools_of_the_same_kind_and_size_are_named_once_with_their_number() -> None:
    spec = library.find("reconnect")
    changes = start.changes(spec, spec.arms(quick=True))
    assert changes[2:] == [
        "2 pools of 20 connections are added (PgBouncer, transaction), and their pooler reloads.",
        "A pool of 32 connections is added (Pgpool-II, session), and its pooler reloads.",
    ]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue answers."""
    monkeypatch.setattr(start, "require_queue", lambda: None)


@pytest.mark.django_db
def test_a_protected_cluster_refuses_with_each_change_in_a_line_of_its_own() -> None:
    cluster = a_cluster(protected=True)
    with pytest.raises(Unconfirmed) as refused:
        start.start(ExperimentRequest(playbook="burst", cluster=cluster, author=person()))
    assert str(refused.value).splitlines() == [
        f"cluster {cluster} is protected: confirm the changes of the experiment with the cluster's name",
        "A role and a database are created for the experiment, and filled with the playbook's tables.",
        "The server is loaded by up to 150 clients.",
        "A pool of 97 connections is added (PgBouncer, transaction), and its pooler reloads.",
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("playbook", library.BUILT_IN)
def test_the_runs_of_every_built_in_playbook_accept_its_options(queue: None, playbook: str, quick: bool) -> None:
    request = ExperimentRequest(playbook=playbook, cluster=a_cluster(protected=False), author=person(), quick=quick)
    experiment = start.start(request)
    engine = library.spec_of(experiment).engine
    for arm in start.arms_of(experiment):
        assert options.validate(engine, dict(arm.options), purpose="load")
    assert options.validate(engine, experiment.dataset, purpose="prepare")


@pytest.mark.django_db
def test_scripts_alone_get_the_scale_of_the_tables(queue: None) -> None:
    author, cluster = person(), a_cluster(protected=False)
    asked = {"playbook": "idle-tax", "cluster": cluster, "author": author, "dataset": {"scale": 3}}
    experiment = start.start(ExperimentRequest(**asked, quick=False, options={"duration": 3}))
    arms = {arm.key: arm.options for arm in start.arms_of(experiment)}
    assert (arms["range-direct-0"]["scale"], arms["range-direct-0"]["duration"]) == (3, 3)
    assert "scale" not in arms["select-direct-0"]  # pgbench counts it itself


@pytest.mark.django_db
def test_the_runs_of_an_experiment_have_no_stages(queue: None) -> None:
    asked = {"playbook": "idle-tax", "cluster": a_cluster(protected=False), "author": person()}
    stages = {"stages": [{"duration_s": 2, "clients": 4}]}
    with pytest.raises(start.InvalidExperiment) as caught:
        start.start(ExperimentRequest(**asked, options=stages))
    assert caught.value.errors == {"options": ["stages: only a single run has them: leave them out"]}
