"""Arms of another host on real servers: another generator runs them, and their rows say which."""

import socket
import time
from collections.abc import Callable

import pytest

from benchmarks.experiments import library
from benchmarks.experiments.report import presentation
from benchmarks.generators import registry
from benchmarks.models import Generator, Purpose
from tests.live.benchmarks.experiments.conftest import CarryOut
from tests.live.panel_programs import TestWorker

pytestmark = pytest.mark.django_db(transaction=True)

PLAYBOOK = """\
name = "hosts"
title = "The same load from two hosts"
baseline = { from = "here" }
metrics = ["tps"]

[options]
builtin = "select-only"
clients = 2
threads = 1
rate = 200

[[axes.from]]
key = "here"
host = "same"

[[axes.from]]
key = "there"
host = "other"

[quick]
repeats = 1

[published_scale]
repeats = 1
"""


def until_registered(name: str) -> None:
    """Until a worker has described itself and is alive."""
    deadline = time.monotonic() + 60
    while not any(one.name == name and one.host for one in registry.alive()):
        assert time.monotonic() < deadline, registry.known()
        time.sleep(0.1)


def test_another_generator_runs_the_arm_of_another_host(
    carry_out: CarryOut, make_worker: Callable[..., TestWorker]
) -> None:
    make_worker("east")
    until_registered("east")
    # two hosts are more than a test has: the records say which is on another, and the lasting worker's was forgotten
    Generator.objects.filter(name="east").update(host="elsewhere")
    Generator.objects.get_or_create(
        name="local", defaults={"host": socket.gethostname(), "engines": {"pgbench": "any"}}
    )
    library.add(PLAYBOOK, is_admin=True)
    found = carry_out("hosts", options={"duration": 2})
    runs = found.experiment.runs.filter(purpose=Purpose.LOAD)
    assert dict(runs.values_list("arm", "generator")) == {"here": "local", "there": "east"}
    assert [row.run_by for row in presentation.show(found.experiment).rows] == ["", "east on elsewhere"]
    assert found.experiment.generators == ["local"]
