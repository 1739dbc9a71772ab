"""The processors of the host that a load runs on, while it runs."""

import subprocess
import sys

import pytest
from pytest_django import Settings

from benchmarks.generators import registry
from benchmarks.models import ObservationKind, Status
from pools.models import Cluster, Host
from tests.live.benchmarks.by_ssh.test_runs import submitted
from tests.live.benchmarks.conftest import execute

pytestmark = [pytest.mark.usefixtures("in_this_process"), pytest.mark.django_db(transaction=True)]
BUSY = {"clients": 4, "threads": 2, "duration": 8, "builtin": "select-only"}


def test_the_processors_taken_by_the_load_are_observed(cluster: Cluster, dataset: str, host: Host) -> None:
    run = execute(submitted(cluster, dataset, registry.add_host(host), **BUSY))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    observed = [one.figures for one in run.observations.filter(kind=ObservationKind.GENERATOR)]
    assert len(observed) >= 5
    assert max(one["cpu_percent"] for one in observed) > 1
    assert max(one["threads"] for one in observed) == 2
    assert all(0 < one["host_cpu_percent"] <= 100 for one in observed)
    others = [one for one in observed if "others_percent" in one]
    assert len(others) >= 2
    assert {"cpu_percent", "busy_percent", "host_cpu_percent", "others_percent"} <= run.conditions["meanwhile"].keys()


def test_strangers_at_work_there_make_it_suspect(
    cluster: Cluster, dataset: str, host: Host, settings: Settings
) -> None:
    settings.CONTENTION_PERCENT = 25
    strangers = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _core in range(4)]
    try:
        run = execute(submitted(cluster, dataset, registry.add_host(host), **BUSY | {"duration": 5}))
    finally:
        for one in strangers:
            one.kill()
            one.wait()
    assert run.status == Status.SUCCEEDED
    assert any(reason.startswith("others' work took ") for reason in run.reasons), run.conditions["meanwhile"]
