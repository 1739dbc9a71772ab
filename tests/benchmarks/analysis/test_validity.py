"""Verdicts on runs, each with its reasons in sentences that carry the figures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.analysis.validity import judge
from benchmarks.engines.pgbench.lines import AbortMessage, Progress, read_line
from benchmarks.engines.pgbench.output import Output, read_output
from benchmarks.models import Purpose, Validity
from tests.benchmarks.engines.pgbench import captured

OPTIONS = {"clients": 4, "threads": 2, "duration": 10, "progress": 1, "connect": False, "rate": None}
SUMMARY = {
    "clients": 4,
    "duration_s": 10,
    "transactions": 4000,
    "failed": 0,
    "latency_avg_ms": 10.0,
    "latency_stddev_ms": 1.0,
    "initial_connection_ms": 5.0,
    "tps": 400.0,
    "effective_clients": 4.0,
}


def samples(times: list[float], tps: float = 400.0, lag_ms: float | None = None) -> list[Progress]:
    return [Progress(t, tps, 10.0, 1.0, failed=0, lag_ms=lag_ms) for t in times]


EVERY_SECOND = samples([float(t) for t in range(1, 11)])


def output(progress: list[Progress] | None = None, **figures: Any) -> Output:
    kept = {key: value for key, value in (SUMMARY | figures).items() if value != "absent"}
    return Output(summary=kept, progress=EVERY_SECOND if progress is None else progress)


def test_a_whole_run_is_valid_without_reasons() -> None:
    assert judge(output(), options=OPTIONS, exit_code=0) == (Validity.VALID, [])


@pytest.mark.parametrize(
    ("exit_code", "reason"),
    [
        (1, "pgbench exited with code 1"),
        (2, "pgbench exited with code 2"),
        (-9, "pgbench was ended by SIGKILL"),
        (-99, "pgbench was ended by signal 99"),
    ],
)
def test_a_bad_exit_makes_it_incomplete_however_good_the_figures(exit_code: int, reason: str) -> None:
    assert judge(output(), options=OPTIONS, exit_code=exit_code) == (Validity.INCOMPLETE, [reason])


def test_the_first_error_is_told_with_the_exit() -> None:
    failed = Output(errors=["pgbench: error: could not connect", "pgbench: error: another"])
    assert judge(failed, options=OPTIONS, exit_code=1) == (
        Validity.INCOMPLETE,
        [
            "pgbench exited with code 1: pgbench: error: could not connect",
            "pgbench printed no summary; progress lines received: 0",
        ],
    )


def test_aborted_clients_make_it_incomplete_though_0_failed() -> None:
    aborted = replace(output(), aborted_clients=frozenset({1, 3}), errors=["client 1 aborted"])
    assert judge(aborted, options=OPTIONS) == (
        Validity.INCOMPLETE,
        ["2 of 4 clients aborted, so fewer than asked for made these figures: client 1 aborted"],
    )


def test_a_run_that_says_it_was_aborted_is_incomplete() -> None:
    event = read_line("Run was aborted; the above results are incomplete.")
    assert isinstance(event, AbortMessage)
    assert judge(replace(output(), run_aborted=True), options=OPTIONS) == (
        Validity.INCOMPLETE,
        ["the run was aborted: its figures cover only the time before"],
    )


def test_a_lost_summary_leaves_only_progress() -> None:
    assert judge(Output(progress=EVERY_SECOND), options=OPTIONS)[1] == [
        "pgbench printed no summary; progress lines received: 10"
    ]


@pytest.mark.parametrize(
    ("first_t", "reason"),
    [
        (1.0, "no transaction was processed"),
        (12.4, "nothing was processed: connecting took the whole 10 s; use fewer clients or a longer duration"),
    ],
)
def test_a_run_without_a_transaction_is_incomplete(first_t: float, reason: str) -> None:
    nothing = output(samples([first_t], tps=0.0), transactions=0, tps=None, effective_clients="absent")
    verdict, reasons = judge(nothing, options=OPTIONS, exit_code=0)
    assert (verdict, reasons[0]) == (Validity.INCOMPLETE, reason)


def test_a_run_that_ended_early_is_incomplete() -> None:
    short = output(EVERY_SECOND[:5], transactions=2000)
    assert judge(short, options=OPTIONS, exit_code=0) == (
        Validity.INCOMPLETE,
        ["the load lasted 5.0 s of 10 s", "progress ended at t = 5.0 s of 10 s"],
    )


def test_a_load_of_which_connecting_left_enough_is_valid() -> None:
    slow = output(samples([6.5, 7.0, 8.0, 9.0, 10.0]), transactions=1600, initial_connection_ms=6000.0)
    assert judge(slow, options=OPTIONS, exit_code=0) == (Validity.VALID, [])


def test_a_load_of_which_connecting_left_little_is_suspect() -> None:
    slow = output(samples([8.5, 9.0, 10.0]), transactions=800, initial_connection_ms=8000.0)
    assert judge(slow, options=OPTIONS, exit_code=0) == (
        Validity.SUSPECT,
        ["connecting took 8.0 s of 10 s: too short a load was left"],
    )


@pytest.mark.parametrize(("connecting_ms", "verdict"), [(20.0, Validity.VALID), (400.0, Validity.SUSPECT)])
def test_a_stage_of_a_second_needs_most_of_it(connecting_ms: float, verdict: Validity) -> None:
    short = output(samples([1.0]), transactions=400, initial_connection_ms=connecting_ms)
    assert judge(short, options=OPTIONS | {"duration": 1}, exit_code=0)[0] == verdict


def test_a_slow_schedule_may_end_before_its_time() -> None:
    sparse = output(transactions=8, tps=1.0, initial_connection_ms=0.0, lag_avg_ms=0.1, effective_clients=0.01)
    assert judge(sparse, options=OPTIONS | {"rate": 1.0}, exit_code=0) == (Validity.VALID, [])


def test_a_run_that_overran_is_suspect() -> None:
    late = output(transactions=6000)
    assert judge(late, options=OPTIONS, exit_code=0) == (
        Validity.SUSPECT,
        ["the load lasted 15.0 s instead of 10 s: some transactions did not end in time"],
    )


@pytest.mark.parametrize(
    ("figures", "verdict", "reasons"),
    [
        ({"transactions": 1000}, Validity.VALID, []),
        ({"transactions": 995, "failed": 5}, Validity.VALID, []),
        ({"transactions": 990}, Validity.INCOMPLETE, ["990 of 1,000 transactions were done"]),
    ],
)
def test_counted_transactions_must_all_be_accounted_for(
    figures: dict[str, int], verdict: Validity, reasons: list[str]
) -> None:
    counted = output([], transactions_expected=1000, duration_s="absent", **figures)
    assert judge(counted, options={"clients": 4, "transactions": 250}, exit_code=0) == (verdict, reasons)


def test_many_failures_make_it_suspect_and_few_do_not() -> None:
    assert judge(output(failed=1000), options=OPTIONS, exit_code=0) == (
        Validity.SUSPECT,
        ["1,000 of 5,000 transactions failed (20.0%); tps counts only the others"],
    )
    assert judge(output(failed=40), options=OPTIONS, exit_code=0)[0] == Validity.VALID


def test_failures_of_several_kinds_carry_the_first_words_that_were_said() -> None:
    described = replace(
        output(failed=1000, errors={"status 500": 1000}), errors=["error: status 500: too many clients"]
    )
    assert judge(described, options=OPTIONS, exit_code=0)[1] == [
        "1,000 of 5,000 transactions failed (20.0%): error: status 500: too many clients; tps counts only the others"
    ]


def test_skipped_transactions_make_it_suspect() -> None:
    verdict, reasons = judge(output(skipped=1000, lag_avg_ms=1.0), options=OPTIONS, exit_code=0)
    assert (verdict, reasons) == (
        Validity.SUSPECT,
        ["1,000 transactions (20.0%) were skipped as too late: the rate is beyond what was reached"],
    )


def test_a_rate_that_was_not_kept_is_overload_not_slowness() -> None:
    assert judge(output(lag_avg_ms=3000.0), options=OPTIONS | {"rate": 1000.0}, exit_code=0) == (
        Validity.SUSPECT,
        ["overloaded: 400.0 of 1,000.0 transactions/s were reached, so latency grew with time"],
    )


def test_where_late_transactions_were_skipped_latency_did_not_grow() -> None:
    assert judge(output(skipped=1000, lag_avg_ms=1.0), options=OPTIONS | {"rate": 1000.0}, exit_code=0) == (
        Validity.SUSPECT,
        [
            "1,000 transactions (20.0%) were skipped as too late: the rate is beyond what was reached",
            "overloaded: 400.0 of 1,000.0 transactions/s were reached, and late ones were skipped",
        ],
    )


def test_chance_in_a_short_schedule_is_no_overload() -> None:
    assert judge(output(lag_avg_ms=1.0), options=OPTIONS | {"rate": 415.0}, exit_code=0)[0] == Validity.VALID


def test_lateness_tells_overload_where_the_rate_is_unknown() -> None:
    assert judge(output(lag_avg_ms=3000.0), options={}) == (
        Validity.SUSPECT,
        ["overloaded: transactions started 3.0 s late on average, so latency grew with time"],
    )


def test_littles_law_finds_clients_that_did_nothing() -> None:
    assert judge(output(effective_clients=2.0), options=OPTIONS, exit_code=0) == (
        Validity.SUSPECT,
        [
            "tps × latency gives only 2.0 of 4 clients at work: "
            "pgbench itself was the bottleneck (use more threads), or some clients hung"
        ],
    )


def test_a_few_transactions_say_nothing_of_clients_at_work() -> None:
    few = {"transactions_per_client": 1, "effective_clients": 2.0}
    assert judge(output(**few), options={}, exit_code=0) == (Validity.VALID, [])
    assert judge(output(**few | {"transactions_per_client": 10}), options={}, exit_code=0)[0] == Validity.SUSPECT


def test_crowded_threads_may_be_late_with_their_clients() -> None:
    crowded = {"clients": 100, "effective_clients": 73.5}
    assert judge(output(**crowded), options=OPTIONS | {"clients": 100}, exit_code=0)[0] == Validity.VALID
    assert judge(output(**crowded), options=OPTIONS | {"clients": 100, "threads": 20})[0] == Validity.SUSPECT


@pytest.mark.parametrize(
    ("clients", "threads", "tps", "latency_ms"),
    [
        (10, 2, 44_362.0, 0.191),
        (10, 2, 62_139.0, 0.133),  # -M prepared
        (25, 1, 45_117.0, 0.418),
        (100, 1, 27_257.0, 2.569),
    ],
)
def test_clients_of_fast_transactions_wait_for_their_thread(clients, threads, tps, latency_ms) -> None:
    """As measured with pgbench 15.18 on two cores: nothing was wrong."""
    asked = OPTIONS | {"clients": clients, "threads": threads}
    fast = {"clients": clients, "tps": tps, "latency_avg_ms": latency_ms, "transactions": round(tps * 10)}
    busy = tps * latency_ms / 1000
    assert judge(output(**fast, effective_clients=busy), options=asked, exit_code=0) == (Validity.VALID, [])
    hung = output(**fast, effective_clients=clients * 0.59)
    assert judge(hung, options=asked, exit_code=0)[0] == Validity.SUSPECT
    slow = output(**fast | {"tps": 80.0, "transactions": 800}, effective_clients=clients * 0.69)
    assert judge(slow, options=asked, exit_code=0)[0] == Validity.SUSPECT


@pytest.mark.parametrize(
    "case",
    [
        {"lag_avg_ms": 0.5},  # Under a schedule clients wait.
        {"average_connection_ms": 2.0},  # Under -C clients wait for their turn.
        {"failed": 3},  # how long failed ones took is not told: each may have kept a client busy all the time
    ],
)
def test_littles_law_is_not_held_where_clients_wait_by_design(case: dict[str, Any]) -> None:
    assert judge(output(effective_clients=1.0, **case), options=OPTIONS, exit_code=0) == (Validity.VALID, [])


def test_more_work_than_clients_can_do_is_suspect() -> None:
    assert judge(output(effective_clients=6.0), options=OPTIONS, exit_code=0) == (
        Validity.SUSPECT,
        ["tps × latency gives 6.0 clients at work, more than the 4 there were"],
    )


def test_a_latency_rounded_to_nothing_proves_nothing() -> None:
    assert judge(output(latency_avg_ms=0.002, effective_clients=6.0), options=OPTIONS)[0] == Validity.VALID


def test_a_gap_in_the_progress_is_suspect() -> None:
    gap = output(EVERY_SECOND[:3] + EVERY_SECOND[6:])
    assert judge(gap, options=OPTIONS, exit_code=0) == (
        Validity.SUSPECT,
        ["no progress for 4.0 s after t = 3.0 s; it was due every 1 s"],
    )


def test_samples_as_they_were_received_go_before_the_capped_output() -> None:
    assert judge(output([]), options=OPTIONS, progress=EVERY_SECOND, exit_code=0)[0] == Validity.VALID


def test_a_missing_last_line_is_no_gap() -> None:
    assert judge(output(EVERY_SECOND[:9]), options=OPTIONS, exit_code=0)[0] == Validity.VALID


def test_a_late_first_line_is_suspect_unless_it_was_connecting() -> None:
    late = EVERY_SECOND[3:]
    assert judge(output(late), options=OPTIONS, exit_code=0)[1] == [
        "the first progress came after 4.0 s; it was due every 1 s"
    ]
    assert "first progress" not in str(judge(output(late, initial_connection_ms=3000.0), options=OPTIONS)[1])


def test_intervals_without_a_transaction_are_suspect_unless_each_takes_longer() -> None:
    still = [*EVERY_SECOND[:4], *samples([5.0, 6.0], tps=0.0), *EVERY_SECOND[6:]]
    assert judge(output(still), options=OPTIONS, exit_code=0) == (
        Validity.SUSPECT,
        ["in 2 of 10 progress intervals no transaction ended"],
    )
    slow = output(still, latency_avg_ms=3000.0, tps=1.33, transactions=13, effective_clients=4.0)
    assert judge(slow, options=OPTIONS, exit_code=0)[0] == Validity.VALID


def test_an_empty_interval_while_still_connecting_is_no_stall() -> None:
    connecting = [*samples([1.0], tps=0.0), *EVERY_SECOND[1:]]
    assert judge(output(connecting), options=OPTIONS, exit_code=0)[0] == Validity.VALID


def test_a_dataset_counts_when_it_is_finished() -> None:
    finished = Output(prepared=True, mode="init")
    assert judge(finished, options={}, exit_code=0, purpose=Purpose.PREPARE) == (Validity.VALID, [])
    begun = Output(prepared_rows=100_000, mode="init")
    assert judge(begun, options={}, exit_code=-15, purpose=Purpose.PREPARE) == (
        Validity.INCOMPLETE,
        ["pgbench was ended by SIGTERM", "the dataset was not finished after 100,000 rows"],
    )


SUMMARIZED = [path for path in captured.paths() if read_output(captured.read(path).stdout).has_summary]


@pytest.mark.parametrize("path", SUMMARIZED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_real_tps_line_after_an_abort_never_makes_a_valid_run(path: Path) -> None:
    taken = captured.read(path)
    verdict, _ = judge(read_output(taken.stdout, taken.stderr), options={}, exit_code=taken.exit_code)
    assert (verdict == Validity.INCOMPLETE) == (taken.exit_code != 0)


def test_an_abort_shows_in_the_figures_even_where_the_errors_were_not_pasted() -> None:
    taken = captured.read(captured.paths("one-aborted")[0])
    verdict, reasons = judge(read_output(taken.stdout), options={})
    assert (verdict, reasons[0][:54]) == (Validity.SUSPECT, "tps × latency gives only 3.0 of 4 clients at work: pgb")
