"""Percentiles of a load on a host: what its pgbench logged there, as of a load here."""

import pytest

from benchmarks.generators import registry
from benchmarks.models import LatencyHistogram, Run, Status
from benchmarks.processes import host_machine
from pools.models import Cluster, Host
from tests.live.benchmarks.by_ssh.test_machine import until
from tests.live.benchmarks.by_ssh.test_runs import homes, in_thread, submitted
from tests.live.benchmarks.conftest import LASTING, Submit, execute

pytestmark = [
    pytest.mark.usefixtures("few_are_enough", "in_this_process"),
    pytest.mark.django_db(transaction=True),
]
LOGGED = {"percentiles": True, "sampling_rate": 1, "builtin": "select-only", "duration": 4, "rate": 400}


def test_a_run_has_every_latency_in_its_histogram_as_one_of_a_worker(
    cluster: Cluster, dataset: str, host: Host, submit: Submit
) -> None:
    run = execute(submitted(cluster, dataset, registry.add_host(host), **LASTING | LOGGED))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    assert run.summary["latency_samples"] == run.summary["transactions"] > 500
    assert LatencyHistogram.objects.get(run=run).count == run.summary["transactions"]
    here = execute(submit(**LOGGED))
    assert {name for name in run.summary if "_p" in name} == {name for name in here.summary if "_p" in name}
    assert run.summary["latency_p50_ms"] == pytest.approx(here.summary["latency_p50_ms"], rel=2)
    assert 0 < run.summary["service_p50_ms"] < run.summary["latency_p50_ms"]
    for sample in run.samples.all():
        assert sample.latency_p50_ms <= sample.latency_p95_ms <= sample.latency_p99_ms
    assert homes(run) == []


def test_the_log_of_each_stage_comes_to_its_end(cluster: Cluster, dataset: str, host: Host) -> None:
    stages = [{"duration_s": 2, "clients": 1}, {"duration_s": 2, "clients": 2, "rate": 300}]
    logged = {"percentiles": True, "sampling_rate": 0.5, "threads": 1}
    run = execute(submitted(cluster, dataset, registry.add_host(host), stages=stages, **logged))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    for stage in run.summary["stages"]:
        assert stage["latency_samples"] == pytest.approx(stage["transactions"] / 2, rel=0.3)
    assert LatencyHistogram.objects.get(run=run).count == run.summary["latency_samples"]
    assert sum(stage["latency_samples"] for stage in run.summary["stages"]) == run.summary["latency_samples"]
    assert homes(run) == []


def test_its_intervals_have_them_while_it_runs(cluster: Cluster, dataset: str, host: Host) -> None:
    options = LOGGED | {"clients": 2, "threads": 2, "duration": 60, "rate": 2_000}
    run = submitted(cluster, dataset, registry.add_host(host), **options)
    thread = in_thread(run)
    assert until(lambda: run.samples.filter(latency_p95_ms__gt=0).count() >= 3)
    known = run.samples.filter(latency_p95_ms__gt=0).count()
    print(f"{known} of {run.samples.count()} intervals have their percentiles while the load runs")
    logs = [log for home in homes(run) for log in home.glob("home/pgbench_log.*")]
    assert len(logs) == 2
    assert all(log.stat().st_blocks * 512 < 1_000_000 for log in logs)
    run.request_cancel()
    thread.join(20)
    assert (Run.objects.get(pk=run.pk).status, homes(run)) == (Status.CANCELLED, [])


def test_the_clock_of_the_host_is_taken_off(
    cluster: Cluster, dataset: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the host's clock were 3 s ahead: its transactions are not those of later intervals."""
    read = host_machine.HostMachine.clock_ahead_s
    monkeypatch.setattr(host_machine.HostMachine, "clock_ahead_s", lambda machine: read(machine) - 30)
    run = execute(submitted(cluster, dataset, registry.add_host(host), **LASTING | LOGGED))
    assert set(run.samples.values_list("latency_p50_ms", flat=True)) == {None}, "the clock decides"
    assert run.summary["latency_samples"] == run.summary["transactions"]


def test_a_host_that_can_not_free_a_log_says_what_the_run_lacks(
    cluster: Cluster, dataset: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = host_machine._script
    without = {"follow_logs.sh": scripts("follow_logs.sh").replace("fallocate", "no-fallocate")}
    monkeypatch.setattr(host_machine, "_script", lambda name: without.get(name) or scripts(name))
    run = execute(submitted(cluster, dataset, registry.add_host(host), **LASTING | LOGGED | {"duration": 2}))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    assert "-l" not in run.command
    assert f"(percentiles are left out: host {host.name} can't free the parts of a log that were" in run.output.stderr
    assert "latency_p50_ms" not in run.summary
