"""Arms of an experiment that need the same settings share one restart of a real server."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.experiments import server_settings
from benchmarks.library.settings_profiles import apply, restart, shared
from benchmarks.models import AppliedProfile, ExperimentState, Phase, Run, SettingsProfile
from benchmarks.runs.execution import outages, reaper
from benchmarks.runs.setup import settings_profile
from benchmarks.runs.setup.base import SetupContext
from benchmarks.runs.submission import queue_status
from pools.clusters import connect
from pools.models import Cluster
from tests.benchmarks.experiments.records import an_experiment

pytestmark = pytest.mark.django_db(transaction=True)


class Quiet:
    """Keeps nothing of what a set-up step reports."""

    def log(self, text: str, at: float) -> None: ...

    def state(self, **values: Any) -> None: ...

    def progress(self, percent: float) -> None: ...

    def retry_until_available(self, action: Callable[[], Any]) -> Any:
        return outages.retry_until_available(action)


@pytest.fixture
def experiment(restartable: Cluster) -> Any:
    return an_experiment("idle-tax", cluster=restartable, state=ExperimentState.RUNNING, phase=Phase.MEASURE)


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> list[Cluster]:
    """The restarts, in order; they are carried out."""
    done: list[Cluster] = []
    real = restart.restart
    monkeypatch.setattr(restart, "restart", lambda cluster: (done.append(cluster), real(cluster))[1])
    return done


def a_run_of(experiment: Any, profile: str = "") -> Run:
    options = {"settings_profile": profile} if profile else {}
    return Run.objects.enqueue(cluster=experiment.cluster, database="app", experiment=experiment, options=options)


def in_force(run: Run) -> Any:
    command: Any = None
    return settings_profile.in_force(SetupContext(run, command, Path(), Quiet(), command, lambda: None))


def most(cluster: Cluster) -> str:
    with connect.connect(cluster) as session:
        return str(session.execute("SHOW max_connections").fetchone()[0])


def carried_out(run: Run) -> str:
    """Enter and leave the step as a runner does; return max_connections as the load saw it."""
    with in_force(run):
        seen = most(run.cluster)
    run.finish("failed")
    return seen


def test_runs_that_need_the_same_setting_share_one_restart(experiment: Any, restarts: list[Cluster]) -> None:
    SettingsProfile.objects.create(name="many", values={"max_connections": "133"})
    assert [carried_out(a_run_of(experiment, "many")) for _ in range(3)] == ["133"] * 3
    reaper.restore_settings()  # leaves alone what the next run takes over
    assert (len(restarts), most(experiment.cluster)) == (1, "133")
    experiment.write(phase=Phase.TEARDOWN)
    assert shared.end_of(experiment) == []
    assert (len(restarts), most(experiment.cluster)) == (2, "100")
    assert not AppliedProfile.objects.filter(restored_at=None).exists()


def test_an_arm_without_the_setting_is_measured_without_it(experiment: Any, restarts: list[Cluster]) -> None:
    SettingsProfile.objects.create(name="many", values={"max_connections": "133"})
    assert [carried_out(a_run_of(experiment, name)) for name in ("many", "", "")] == ["133", "100", "100"]
    assert len(restarts) == 2


def test_the_reaper_takes_back_what_an_experiment_left_that_is_gone(experiment: Any) -> None:
    SettingsProfile.objects.create(name="many", values={"max_connections": "133"})
    carried_out(a_run_of(experiment, "many"))
    cluster = experiment.cluster
    experiment.delete()
    reaper.restore_settings()
    assert (most(cluster), apply.applied_on(cluster)) == ("100", None)


def test_another_run_waits_and_says_for_what(experiment: Any) -> None:
    run = a_run_of(experiment)
    values = {"values": {"max_connections": "133"}, "before": {"max_connections": None}, "restarted": True}
    AppliedProfile.objects.create(run=run, cluster=experiment.cluster, **values)
    run.finish("failed")
    other, own = Run.objects.enqueue(cluster=experiment.cluster, database="app"), a_run_of(experiment)
    assert list(Run.objects.due()) == [own]
    waiting = queue_status.waits_for(other)
    assert waiting is not None
    assert (
        waiting.missing[0]
        == f"waits for {experiment}, which keeps its settings in force on cluster restartable until it ends"
    )


def test_a_server_that_the_panel_restarts_is_waited_for(experiment: Any) -> None:
    cluster = experiment.cluster
    assert not shared.is_up_again(cluster)  # nothing of the panel's: whoever asks is told at once
    values = {"values": {"max_connections": "133"}, "before": {"max_connections": None}, "restarted": True}
    AppliedProfile.objects.create(run=a_run_of(experiment), cluster=cluster, **values)
    restarting = threading.Thread(target=restart.restart, args=(cluster,))
    restarting.start()
    assert shared.is_up_again(cluster)
    restarting.join()


def test_whoever_is_connected_is_named(experiment: Any) -> None:
    cluster = experiment.cluster
    assert server_settings.sessions_to_end(cluster) == ""
    with connect.connect(cluster, application_name="billing"):
        said = server_settings.sessions_to_end(cluster)
    assert said == "A restart ends 1 session that is connected now: postgres (billing): 1."
