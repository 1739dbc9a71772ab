"""How a load is shared out."""

import pytest

from benchmarks.errors import InvalidOptions
from benchmarks.runs.submission import options as load_options
from benchmarks.runs.submission.split import even, shares
from tests.benchmarks.records import the_options


@pytest.mark.parametrize(
    ("total", "count", "sizes"), [(9, 3, [3, 3, 3]), (10, 3, [4, 3, 3]), (11, 3, [4, 4, 3]), (3, 3, [1, 1, 1])]
)
def test_clients_are_shared_evenly_the_first_ones_get_the_rest(total, count, sizes):
    assert even(total, count) == sizes
    options = the_options(clients=total, threads=1)
    assert [share["clients"] for share in shares("pgbench", options, count)] == sizes


def test_the_rate_follows_the_clients_and_adds_up():
    found = shares("pgbench", the_options(clients=10, rate=1000), 3)
    assert [share["rate"] for share in found] == [400.0, 300.0, 300.0]


def test_a_rate_in_whole_numbers_stays_one():
    options = load_options.validate("sysbench", {"threads": 4, "rate": 10}, purpose="load")
    found = shares("sysbench", options, 3)
    assert [(share["threads"], share["rate"]) for share in found] == [(2, 5), (1, 2), (1, 3)]


@pytest.mark.parametrize(("threads", "rate", "count"), [(4, 1, 2), (5, 2, 3)])
def test_a_rate_that_leaves_a_generator_none_is_refused_for_none_is_no_limit(threads, rate, count):
    options = load_options.validate("sysbench", {"threads": threads, "rate": rate}, purpose="load")
    with pytest.raises(InvalidOptions) as refused:
        shares("sysbench", options, count)
    why = f"a rate of {rate} leaves one of {count} generators without any: raise it, or name fewer generators"
    assert refused.value.errors == {"rate": [why]}


def test_events_are_those_of_all_and_shared_out():
    options = load_options.validate("sysbench", {"threads": 4, "events": 501}, purpose="load")
    assert [share["events"] for share in shares("sysbench", options, 2)] == [251, 250]
    options = load_options.validate("sysbench", {"threads": 4, "events": 1}, purpose="load")
    with pytest.raises(InvalidOptions) as refused:
        shares("sysbench", options, 2)
    assert refused.value.errors == {"events": ["1 can't be shared by 2 generators: use at least 2"]}


def test_the_pools_of_all_services_are_as_large_as_the_one_asked_for():
    options = load_options.validate("http", {"concurrency": 7, "pool_size": 10}, purpose="load")
    found = shares("http", options, 3)
    assert [(share["concurrency"], share["pool_size"]) for share in found] == [(3, 4), (2, 3), (2, 3)]
    options |= {"pool_size": 2}
    with pytest.raises(InvalidOptions) as refused:
        shares("http", options, 3)
    assert refused.value.errors == {"pool_size": ["2 can't be shared by 3 generators: use at least 3"]}


def test_a_load_whose_processes_would_collide_goes_to_one_generator():
    options = load_options.validate("sysbench", {"script": "bulk_insert", "threads": 4}, purpose="load")
    with pytest.raises(InvalidOptions) as refused:
        shares("sysbench", options, 2)
    why = "bulk_insert of several generators would insert the same keys: name one generator"
    assert refused.value.errors == {"script": [why]}


def test_transactions_are_those_of_each_client_and_stay():
    options = the_options(clients=4, transactions=50)
    assert [share["transactions"] for share in shares("pgbench", options, 2)] == [50, 50]


def test_all_else_holds_for_each_generator():
    options = the_options(clients=4, threads=2, duration=7, builtin="simple-update", max_tries=3)
    assert shares("pgbench", options, 2) == [options | {"clients": 2}] * 2


def test_each_part_has_a_seed_of_its_own():
    options = the_options(clients=4, random_seed=7)
    assert [share["random_seed"] for share in shares("pgbench", options, 2)] == [7, 8]


def test_fewer_clients_than_generators_are_refused():
    with pytest.raises(InvalidOptions) as refused:
        shares("pgbench", the_options(clients=2, threads=1), 3)
    assert refused.value.errors == {"clients": ["2 can't be shared by 3 generators: use at least 3"]}


def test_a_share_that_the_program_would_refuse_is_refused_before():
    with pytest.raises(InvalidOptions) as refused:
        shares("pgbench", the_options(clients=5, threads=2), 3)
    assert refused.value.errors == {
        "threads": ["2 threads are more than 1 clients: use at most 1 (each generator has as few as 1 of the clients)"]
    }


def test_a_load_without_clients_goes_to_one_generator():
    with pytest.raises(InvalidOptions, match="jmeter has none of clients, concurrency, threads to share out"):
        shares("jmeter", {}, 2)
