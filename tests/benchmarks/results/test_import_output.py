"""Pasted outputs become finished runs, or are refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from benchmarks.models import Purpose, Run, RunOutput, Status, Validity
from benchmarks.results.import_output import NotImportable, import_output
from tests.benchmarks.engines.pgbench import captured

SUMMARY = """pgbench (15.4 (Homebrew), server 14.6)
starting vacuum...end.
progress: 5.0 s, 400.0 tps, lat 10.000 ms stddev 1.577, 0 failed
progress: 10.0 s, 399.6 tps, lat 10.012 ms stddev -nan, 2 failed
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 10 s
number of transactions actually processed: 4000
number of failed transactions: 2 (0.050%)
latency average = 10.003 ms
latency stddev = 1.600 ms
initial connection time = 12.500 ms
tps = 400.123456 (without initial connection time)
statement latencies in milliseconds and failures:
         0.002           0  \\set aid random(1, 100000 * :scale)
        10.001           2  END;
"""

pytestmark = pytest.mark.django_db


def test_a_whole_output_becomes_a_succeeded_run_with_everything_it_says() -> None:
    person = User.objects.create_user("ann")
    run = import_output(SUMMARY, " from the laptop ", person)
    kept = Run.objects.values(
        "name", "purpose", "status", "validity", "reasons", "error", "exit_code", "options", "author", "summary"
    ).get(pk=run.pk)
    assert kept == {
        "name": "from the laptop",
        "purpose": Purpose.IMPORT,
        "status": Status.SUCCEEDED,
        "validity": Validity.VALID,
        "reasons": [],
        "error": "",
        "exit_code": None,
        "author": person.pk,
        "options": {
            "builtin": "tpcb-like",
            "clients": 4,
            "threads": 2,
            "duration": 10,
            "protocol": "simple",
            "max_tries": 1,
        },
        "summary": {
            "transaction_type": "<builtin: TPC-B (sort of)>",
            "scale": 1,
            "query_mode": "simple",
            "clients": 4,
            "threads": 2,
            "max_tries": 1,
            "duration_s": 10,
            "transactions": 4000,
            "failed": 2,
            "failed_percent": 0.05,
            "latency_avg_ms": 10.003,
            "latency_stddev_ms": 1.6,
            "initial_connection_ms": 12.5,
            "tps": 400.123456,
            "effective_clients": 4.002,
        },
    }
    assert (run.client_version, run.server_version) == ("15.4 (Homebrew)", "14.6")
    assert run.finished_at is not None
    assert run.statements == [
        {
            "script": 1,
            "latency_ms": 0.002,
            "failures": 0,
            "retries": None,
            "statement": "\\set aid random(1, 100000 * :scale)",
        },
        {"script": 1, "latency_ms": 10.001, "failures": 2, "retries": None, "statement": "END;"},
    ]


@pytest.mark.parametrize(
    ("heading", "server"),
    [
        ("pgbench (18.4)\n", "18.4"),
        ("pgbench (15.18 (Debian 15.18-1.pgdg12+1))\n", "15.18"),
        ("pgbench (18.4, server 15.18 (Debian 15.18-1.pgdg12+1))\n", "15.18"),
        ("", ""),
    ],
)
def test_the_server_is_the_clients_version_where_only_that_was_printed(heading: str, server: str) -> None:
    rest = "\n".join(line for line in SUMMARY.splitlines() if not line.startswith("pgbench ("))
    assert import_output(heading + rest).server_version == server


def test_its_samples_are_numbered_and_a_nan_is_nothing() -> None:
    run = import_output(SUMMARY)
    assert list(run.samples.values_list("attempt", "seq", "t", "tps", "latency_ms", "stddev_ms", "failed")) == [
        (1, 1, 5.0, 400.0, 10.0, 1.577, 0),
        (1, 2, 10.0, 399.6, 10.012, None, 2),
    ]


def test_the_text_is_kept_as_it_came() -> None:
    run = import_output(SUMMARY + "NUL \x00 and half a pair \ud800")
    assert RunOutput.objects.get(run=run).stdout == SUMMARY + "NUL \ufffd and half a pair ?"


def test_unix_times_are_put_on_the_loads_clock() -> None:
    lines = "".join(
        f"progress: {1727268744.514 + second:.3f} s, 1.0 tps, lat 1.000 ms stddev 0.000\n" for second in range(3)
    )
    run = import_output(lines)
    assert list(run.samples.values_list("t", flat=True)) == [1.0, 2.0, 3.0]
    assert run.load_began_at == datetime(2024, 9, 25, 12, 52, 23, 514000, UTC)


def test_an_aborted_run_is_failed_and_incomplete() -> None:
    error = "pgbench: error: client 1 script 0 aborted in command 0 query 0: ERROR:  division by zero"
    run = import_output(f"{SUMMARY}{error}\npgbench: error: Run was aborted; the above results are incomplete.\n")
    assert (run.status, run.validity, run.error) == (Status.FAILED, Validity.INCOMPLETE, error)
    assert run.reasons == [f"1 of 4 clients aborted, so fewer than asked for made these figures: {error}"]


def test_progress_without_a_summary_is_a_failed_run_that_keeps_its_samples() -> None:
    run = import_output(SUMMARY.split("transaction type")[0])
    assert (run.status, run.validity, run.samples.count()) == (Status.FAILED, Validity.INCOMPLETE, 2)
    assert run.error == "pgbench printed no summary; progress lines received: 2"


def test_a_finished_dataset_is_a_succeeded_run() -> None:
    run = import_output(
        "creating tables...\ngenerating data (client-side)...\ndone in 0.70 s (create tables 0.70 s).\n"
    )
    assert (run.status, run.validity) == (Status.SUCCEEDED, Validity.VALID)


@pytest.mark.parametrize("text", ["", "   \n", "hello\nERROR:  no pgbench here\n", '{"tps": 12}', "hello\ndone.\n"])
def test_a_text_without_pgbench_is_refused(text: str) -> None:
    with pytest.raises(NotImportable, match=r"this text holds no output of a load program \(pgbench, sysbench\)"):
        import_output(text)
    assert not Run.objects.exists()


def test_several_executions_in_one_text_are_refused() -> None:
    with pytest.raises(NotImportable, match="2 executions of pgbench: import each one separately"):
        import_output(SUMMARY * 2)


def test_a_text_over_the_cap_is_refused_with_both_sizes(settings: LazySettings) -> None:
    settings.OUTPUT_CAP_BYTES = 500
    with pytest.raises(NotImportable, match="has 736 bytes, more than the 500 allowed"):
        import_output(SUMMARY)


def test_numbers_go_on_from_the_last_run() -> None:
    assert [import_output(SUMMARY).number, import_output(SUMMARY).number] == [1, 2]


def test_an_output_of_sysbench_is_known_as_one() -> None:
    printed = captured.read(Path(__file__).parents[1] / "engines" / "sysbench" / "outputs" / "read-only.txt").stdout
    run = import_output(printed)
    assert (run.engine, run.status, run.options) == ("sysbench", Status.SUCCEEDED, {"threads": 2})
    assert (run.client_version, run.server_version) == ("1.0.20", "")
    assert [sample.t for sample in run.samples.all()] == [1.0, 2.0, 3.0]
    assert all(sample.latency_p95_ms for sample in run.samples.all())
    assert run.latency_histogram.count == run.summary["latency_samples"] == run.summary["transactions"]
    assert run.summary["latency_p50_ms"] <= run.summary["latency_p90_ms"] <= run.summary["latency_p95_ms"]
