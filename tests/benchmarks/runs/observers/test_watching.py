"""Which loads are watched."""

from pathlib import Path
from queue import Queue

import pytest

from benchmarks.models import Purpose, Run
from benchmarks.processes.machines import HomeHere
from benchmarks.runs import observers
from benchmarks.runs.observers import probes
from benchmarks.runs.observers.base import LoadContext

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("purpose", "watched"), [(Purpose.LOAD, True), (Purpose.PREPARE, False)])
def test_a_dataset_being_prepared_is_not_watched(monkeypatch, purpose, watched):
    entered = []

    def watcher(overlay):
        entered.append(overlay)
        return observers.ExitStack()

    monkeypatch.setattr(observers, "OBSERVERS", (watcher,))
    with observers.watching(LoadContext(Run(purpose=purpose), 1, HomeHere(Path("/")), Queue())):
        assert bool(entered) is watched


def test_nothing_is_opened_for_a_run_whose_cluster_is_gone():
    with probes.opened(Run()) as around:
        assert around == probes.ServerProbe()
