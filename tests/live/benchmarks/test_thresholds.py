"""A run with thresholds on a real server, and the evidence that is kept of it."""

import json

from benchmarks.models import Status
from benchmarks.results.export import run_document
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import LASTING, QUICK, execute, pgbenches


def submit(cluster, dataset, options=QUICK, **thresholds):
    asked = [{"metric": metric, bound: limit} for metric, (bound, limit) in thresholds.items()]
    target = {"cluster": str(cluster.pk), "database": dataset}
    return submit_one(target=target, options=options, author=None, thresholds=asked)


def test_a_run_that_reaches_its_thresholds_passes(cluster, dataset, in_this_process):
    done = execute(submit(cluster, dataset, LASTING, tps=("at_least", 1.0), failed_percent=("at_most", 0.0)))
    assert (done.status, done.gate) == (Status.SUCCEEDED, "passed")


def test_one_that_does_not_fails_and_still_succeeds(cluster, dataset, in_this_process):
    done = execute(submit(cluster, dataset, LASTING, tps=("at_least", 1e9)))
    assert (done.status, done.gate) == (Status.SUCCEEDED, "failed")
    assert done.validity != "incomplete", done.reasons  # a busy machine may stall, which is suspect


def test_a_broken_one_fails_whatever_its_figures(cluster, dataset, in_this_process):
    run = submit(cluster, dataset, tps=("at_least", 0.0))
    run.options["clients"] = 150
    run.save(update_fields=["options"])
    done = execute(run)
    assert (done.status, done.gate) == (Status.FAILED, "failed")


def test_without_thresholds_there_is_no_gate(cluster, dataset, in_this_process):
    assert execute(submit(cluster, dataset)).gate == ""


def test_the_evidence_holds_settings_hardware_and_the_poolers_revision(in_this_process, pool):
    asked = {"target": {"pool": str(pool.pk)}, "options": LASTING, "author": None}
    done = execute(submit_one(**asked))
    assert done.status == Status.SUCCEEDED, done.error
    found = json.loads("".join(run_document.of(done)))
    around = found["surroundings"]
    assert around["server"]["version"].startswith("PostgreSQL ")
    assert around["server"]["settings"]["fsync"] == {"value": "off", "unit": "", "source": "command line"}
    assert around["generator"]["cores"] > 0
    assert around["pooler"]["pool"] == {"name": "orders", "mode": "transaction", "size": 2, "settings": {}}
    assert around["pooler"]["revision"]["number"] == 1
    assert found["run"]["command"][0].endswith("pgbench")
    assert len(found["samples"]) == done.samples.count() > 0
    assert "super-secret" not in str(found)
    assert "app-password" not in str(found)


def test_a_missed_threshold_ends_the_load_with_state_reason_and_its_samples(cluster, dataset, in_this_process):
    target = {"cluster": str(cluster.pk), "database": dataset}
    asked = [{"metric": "tps", "at_least": 1e9, "abort_after_s": 2}]
    options = LASTING | {"duration": 60, "progress": 1}
    done = execute(submit_one(target=target, options=options, author=None, thresholds=asked))
    assert (done.status, done.validity, done.gate) == (Status.FAILED, "incomplete", "failed")
    assert done.error.startswith("ended early at ")
    assert "Throughput" in done.error
    assert "at least 1,000,000,000 tps" in done.error
    assert done.reasons == [done.error]
    assert 2 <= done.samples.count() < 30
    assert not pgbenches(done)
