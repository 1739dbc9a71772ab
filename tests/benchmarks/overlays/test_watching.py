"""Which loads are watched."""

from pathlib import Path
from queue import Queue

import pytest

from benchmarks import overlays
from benchmarks.models import Purpose, Run
from benchmarks.overlays import sight
from benchmarks.overlays.contract import Overlay

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("purpose", "watched"), [(Purpose.LOAD, True), (Purpose.PREPARE, False)])
def test_a_dataset_being_prepared_is_not_watched(monkeypatch, purpose, watched):
    entered = []

    def watcher(overlay):
        entered.append(overlay)
        return overlays.ExitStack()

    monkeypatch.setattr(overlays, "WATCHERS", (watcher,))
    with overlays.watching(Overlay(Run(purpose=purpose), 1, Path("/"), Queue())):
        assert bool(entered) is watched


def test_nothing_is_opened_for_a_run_whose_cluster_is_gone():
    with sight.opened(Run()) as around:
        assert around == sight.Sight()
