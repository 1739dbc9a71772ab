"""Outputs as people have them: behind what a harness, a CI system or a container puts before each line."""

from collections.abc import Callable

import pytest

from benchmarks.models import Validity
from benchmarks.results.import_output import NotImportable, import_output
from benchmarks.results.pasted_text import without_prefix

PGBENCH = """pgbench (15.4 (Debian 15.4-2.pgdg120+1))
starting vacuum...end.
progress: 20.0 s, 2355.1 tps, lat 13.560 ms stddev 6.801, 0 failed
progress: 40.0 s, 2381.9 tps, lat 13.431 ms stddev 6.655, 0 failed
progress: 60.0 s, 2379.2 tps, lat 13.449 ms stddev 6.680, 0 failed
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 100
query mode: simple
number of clients: 32
number of threads: 4
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: 142311
number of failed transactions: 0 (0.000%)
latency average = 13.483 ms
latency stddev = 6.712 ms
initial connection time = 41.287 ms
tps = 2372.418230 (without initial connection time)"""
SYSBENCH = """sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 16

Threads started!

[ 10s ] thds: 16 tps: 1204.51 qps: 24103.33 (r/w/o: 16873.61/4819.50/2410.22) lat (ms,99%): 27.17 err/s: 0.10 reconn/s: 0.00
[ 20s ] thds: 16 tps: 1222.12 qps: 24441.21 (r/w/o: 17108.92/4888.05/2444.24) lat (ms,99%): 26.68 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            340004
        write:                           97143
        other:                           48572
        total:                           485719
    transactions:                        24285  (1213.61 per sec.)
    queries:                             485719 (24272.88 per sec.)
    ignored errors:                      1      (0.05 per sec.)
    reconnects:                          0      (0.00 per sec.)

Throughput:
    events/s (eps):                      1213.6094
    time elapsed:                        20.0106s
    total number of events:              24285

Latency (ms):
         min:                                    5.12
         avg:                                   13.17
         max:                                   88.41
         95th percentile:                       20.00
         99th percentile:                       27.17
         999th percentile:                       51.94
         sum:                               319925.31

Threads fairness:
    events (avg/stddev):           1517.8125/6.31
    execution time (avg/stddev):   19.9953/0.00
"""  # noqa: E501 (as sysbench prints it)
PREFIXES: dict[str, Callable[[int], str]] = {
    "fabric": lambda _: "[localhost] out: ",
    "GitHub": lambda number: f"2024-05-01T10:00:{10 + number}.1234567Z ",
    "gh run view": lambda number: f"bench\tRun pgbench\t2024-05-01T10:00:{10 + number}.1234567Z ",
    "kubectl": lambda number: f"2024-05-01T10:00:{10 + number}{'.5' * (number % 2)}Z ",
    "Compose": lambda _: "pgbench-1  | ",
    "Compose, colored": lambda _: "\x1b[36mpgbench-1  |\x1b[0m ",
    "Jenkins": lambda number: f"[2024-05-01T10:00:{10 + number},{number:03}Z] ",
    "journald": lambda number: f"May 01 10:0{number % 10}:59 db1 bench[4711]: ",
    "stern": lambda _: "[pod/bench-7d9f/pgbench] ",
    "ts": lambda number: f"{9 + number // 9}:{number:02} ",
    "quoted mail": lambda _: "> ",
}

pytestmark = pytest.mark.django_db


def prefixed(text: str, prefix: Callable[[int], str]) -> str:
    return "\n".join(prefix(number) + line for number, line in enumerate(text.splitlines()))


@pytest.mark.parametrize("harness", PREFIXES)
def test_a_prefix_of_every_line_is_taken_off(harness: str) -> None:
    run = import_output(prefixed(PGBENCH, PREFIXES[harness]))
    assert (run.validity, run.summary["tps"], run.samples.count()) == (Validity.VALID, 2372.418230, 3)
    assert run.client_version == "15.4 (Debian 15.4-2.pgdg120+1)"
    assert without_prefix(prefixed(SYSBENCH, PREFIXES[harness])) == SYSBENCH.removesuffix("\n")


def test_lines_of_other_programs_between_them_are_left_alone() -> None:
    text = prefixed(PGBENCH, PREFIXES["Compose"]).replace("\n", "\npostgres-1 | LOG:  checkpoint starting: time\n")
    assert import_output(text).summary["tps"] == 2372.418230


@pytest.mark.parametrize("text", [PGBENCH, SYSBENCH, "", "hello\nworld"])
def test_a_text_without_a_prefix_stays_as_it_is(text: str) -> None:
    assert without_prefix(text) == text


def test_two_containers_are_two_executions() -> None:
    both = prefixed(PGBENCH, lambda _: "pgbench-1 | ") + "\n" + prefixed(PGBENCH, lambda _: "pgbench-2 | ")
    with pytest.raises(NotImportable, match="holds 2 executions of pgbench"):
        import_output(both)


def test_binary_data_is_called_so() -> None:
    with pytest.raises(NotImportable, match="this is binary data and no text"):
        import_output("\x89PNG\r\n\x1a\n\0\0IHDR")


def test_sysbench_1_1_is_read_whole() -> None:
    run = import_output(SYSBENCH)
    figures = ("tps", "clients", "elapsed_s", "effective_clients", "latency_p95_ms", "latency_p99_ms", "failed")
    assert [run.summary[name] for name in figures] == [1213.61, 16, 20.0106, 15.988, 20.0, 27.17, 1]
    assert (run.client_version, run.validity, run.samples.count()) == ("1.1.0-df89d34", Validity.VALID, 2)


@pytest.mark.parametrize("errors", [0, 1, 2])
def test_few_busy_threads_are_no_valid_run_though_some_transactions_failed(errors: int) -> None:
    idle = SYSBENCH.replace("319925.31", "119925.31")
    run = import_output(idle.replace("ignored errors:                      1 ", f"ignored errors:     {errors} "))
    assert (run.validity, len(run.reasons)) == (Validity.SUSPECT, 1)
    assert "gives only 6.0 of 16 threads at work" in run.reasons[0]
