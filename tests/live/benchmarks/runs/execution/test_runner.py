"""Runs carried out by the runner, in this process, against real servers."""

import re

import psycopg
import pytest

from benchmarks.models import RunOutput, Status, Validity
from panel.quickstart.servers import PostgresServer
from pools.models import Pool
from tests.live.benchmarks.conftest import HOLDING, Submit, execute

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_this_process"),
]


def version_of(postgres: PostgresServer) -> str:
    """Major and minor number of the server, as libpq counts them."""
    login = {"user": postgres.superuser, "password": postgres.password, "dbname": "postgres"}
    with psycopg.connect(host=postgres.host, port=postgres.port, **login) as session:
        return f"{session.info.server_version // 10000}.{session.info.server_version % 10000}"


def test_a_direct_run_succeeds_with_samples_summary_and_output(submit: Submit, postgres: PostgresServer) -> None:
    run = execute(submit(duration=3))
    assert (run.status, run.error, run.exit_code) == (Status.SUCCEEDED, "", 0)
    assert run.validity in (Validity.VALID, Validity.SUSPECT)  # a crowded machine may stall it
    assert run.summary["clients"] == 2
    assert run.client_version.startswith("15")
    assert run.server_version == version_of(postgres)
    samples = list(run.samples.all())
    assert 1 <= len(samples) <= 3
    assert all(sample.tps > 0 and sample.latency_ms > 0 for sample in samples)
    output = RunOutput.objects.get(run=run)
    printed = re.search(r"^tps = ([0-9.]+)", output.stdout, re.MULTILINE)
    assert printed is not None
    assert run.summary["tps"] == float(printed[1]) > 0
    assert output.stderr.count("progress: ") == len(samples)
    assert run.load_began_at is not None
    assert 2 < (run.finished_at - run.load_began_at).total_seconds() < 20


def test_a_pooled_run_carries_what_the_pool_did(pool: Pool, submit: Submit, postgres: PostgresServer) -> None:
    run = execute(submit(pool, clients=8, threads=2, duration=4, **HOLDING))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    assert run.server_version == version_of(postgres)
    observations = list(run.pool_samples.all())
    assert len(observations) >= 2  # one a second, but a busy machine may miss a second
    assert max(observation.sv_active + observation.sv_idle for observation in observations) == 2
    assert max(observation.cl_waiting for observation in observations) > 0
    assert [observation.t for observation in observations] == sorted(observation.t for observation in observations)
