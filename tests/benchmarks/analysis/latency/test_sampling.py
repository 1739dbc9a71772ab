"""As many transactions are logged as a firm p99 needs, by what the target reached before."""

import pytest

from benchmarks.analysis.latency.sampling import guessed_tps, known_tps, options_of, rate
from benchmarks.engines import ENGINES
from benchmarks.models import Run, Status
from tests.benchmarks.records import a_finished_run, a_run, the_options

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("options", "tps", "share"),
    [
        ({"duration": 30}, 100.0, 1.0),
        ({"duration": 30}, 50_000.0, 0.04),  # 2,000 lines a second
        ({"duration": 3_600}, 1_000.0, 0.0556),  # 200,000 in all
        ({"duration": 86_400}, 90_000.0, 0.0001),
        ({"transactions": 1_000, "clients": 10}, 1_000.0, 1.0),
        ({"transactions": 100_000, "clients": 10}, 1_000.0, 0.2),
        ({"transactions": 5, "clients": 3}, 50_000.0, 1.0),  # 10,000 are soon read
        ({"transactions": 10_000, "clients": 10}, 50_000.0, 0.1),
    ],
)
def test_the_share_keeps_to_200_000_in_all_and_2_000_a_second(options: dict[str, int], tps: float, share: float):
    assert rate(options, tps) == share


def run_of(**chosen: object) -> Run:
    return a_run(options=the_options(percentiles=True, **chosen))


def done(tps: float, **chosen: object) -> Run:
    return a_finished_run(options=the_options(**chosen), summary={"tps": tps})


def test_an_unknown_target_is_guessed_fast():
    assert (known_tps(run_of()), guessed_tps(run_of())) == (None, 50_000.0)
    assert guessed_tps(run_of(connect=True)) == 10_000.0


def test_each_statement_of_a_transaction_takes_its_time():
    assert guessed_tps(run_of(builtin="simple-update")) == 10_000.0
    assert guessed_tps(run_of(builtin=["tpcb-like@1", "select-only@3"])) == 50_000.0 / 2.5
    assert guessed_tps(run_of(builtin=None, scripts=[{"text": "SELECT 1;", "weight": 2}])) == 50_000.0


def test_no_client_is_much_faster_than_the_round_trip_that_was_measured():
    def away(**chosen: object) -> Run:
        run = run_of(clients=4, **chosen)
        run.conditions = {"ping": {"min_ms": 8.0, "connect_ms": 72.0}}
        return run

    assert guessed_tps(away()) == 4_000.0
    assert guessed_tps(away(builtin="simple-update")) == 800.0
    assert guessed_tps(away(connect=True)) == 400.0
    assert options_of(away(connect=True))["sampling_rate"] is None  # all of them


def test_the_warm_up_tells_before_earlier_runs_do():
    done(900.0, clients=10)
    run = run_of(clients=10)
    run.conditions = {"warm_up": {"seconds": 5.0, "tps": 4_000.0}}
    assert known_tps(run) == 4_000.0
    assert options_of(run)["sampling_rate"] == 0.5  # 2,000 lines a second


def test_the_last_comparable_run_tells():
    done(900.0, clients=10)
    done(500.0, clients=10)
    done(70.0, clients=10, connect=True)
    done(20.0, clients=10, builtin="tpcb-like")
    a_finished_run(options=the_options(clients=10), summary={"tps": 7.0}, database="other")
    a_run(options=the_options(clients=10), status=Status.RUNNING)
    assert known_tps(run_of(clients=10)) == 500.0


def test_more_clients_are_expected_to_do_more_and_fewer_not_less():
    done(500.0, clients=10)
    assert known_tps(run_of(clients=40)) == 2_000.0
    assert known_tps(run_of(clients=2)) == 500.0


def test_a_handful_of_transactions_tells_nothing():
    done(9_000.0, clients=10)
    done(100.0, clients=10, transactions=5, duration=None)
    assert known_tps(run_of(clients=10)) == 9_000.0


def test_what_more_clients_would_do_has_an_end_where_what_was_reached_has_none():
    done(7_500.0, clients=4, builtin="simple-update")
    assert known_tps(run_of(clients=30, builtin="simple-update")) == 10_000.0
    done(90_000.0, clients=10)
    assert known_tps(run_of(clients=20)) == 90_000.0


def test_a_rate_bounds_what_is_expected_and_says_nothing_of_what_is_reached():
    assert guessed_tps(run_of(rate=200.0)) == 200.0
    done(200.0, rate=200.0)
    assert known_tps(run_of()) is None


def test_each_stage_has_a_share_of_its_own_and_a_run_of_them_tells_nothing():
    stages = [{"duration_s": 10, "clients": 2}, {"duration_s": 10, "clients": 2, "rate": 10}]
    done(900.0, stages=stages)
    assert known_tps(run_of(clients=2)) is None
    run = run_of(stages=stages)
    shares = [options_of(run, stage)["sampling_rate"] for stage in ENGINES["pgbench"].stages(run.options)]
    assert shares == [0.1, None]
    assert run.options["stages"] == stages


def test_a_chosen_share_stays_and_no_percentiles_need_none():
    assert options_of(run_of(sampling_rate=0.5))["sampling_rate"] == 0.5
    assert options_of(run_of())["sampling_rate"] == 0.1
    assert options_of(run_of(rate=10.0))["sampling_rate"] is None  # all of them
    without = a_run(options=the_options(percentiles=False))
    assert options_of(without) == without.options
