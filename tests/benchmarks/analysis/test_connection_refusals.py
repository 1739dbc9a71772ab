"""What pgbench printed where a server ran out of connections, told with how many clients were refused."""

from benchmarks.analysis import connection_refusals

SLOTS = "remaining connection slots are reserved for non-replication superuser connections"
# pgbench 15.18, -c 150 against max_connections = 100
FIRST_ONLY = f"""pgbench (15.18 (Debian 15.18-0+deb12u1))
pgbench: error: connection to server at "127.0.0.1", port 5433 failed: FATAL:  {SLOTS}
pgbench: error: could not create connection for client 97
"""
RECONNECTING = """pgbench: error: connection to server failed: FATAL:  sorry, too many clients already
pgbench: error: client 4 aborted while establishing connection
pgbench: error: connection to server failed: FATAL:  sorry, too many clients already
pgbench: error: client 9 aborted while establishing connection
"""
KEPT = {"max_connections": {"value": "60"}}


def test_with_one_thread_all_before_the_first_refused_were_let_in():
    found = connection_refusals.find(FIRST_ONLY, {"clients": 150, "threads": 1}, {})
    assert found.sentence(pooled=False) == f"the server refused 53 of 150 clients: {SLOTS}"


def test_with_several_it_is_what_the_server_has_no_room_for():
    found = connection_refusals.find(FIRST_ONLY, {"clients": 150, "threads": 2}, {"fsync": {"value": "off"}})
    assert found.refused == 53  # 100 connections, 3 of them reserved: PostgreSQL's own defaults are not kept
    assert connection_refusals.find(FIRST_ONLY, {"clients": 150, "threads": 2}, KEPT).refused == 93


def test_where_nothing_is_known_of_the_server_no_number_is_made_up():
    found = connection_refusals.find(FIRST_ONLY, {"clients": 150, "threads": 2}, {})
    assert found.sentence(pooled=False) == f"the server refused some of 150 clients: {SLOTS}"


def test_clients_that_gave_up_are_counted():
    assert connection_refusals.find(RECONNECTING, {"clients": 10, "threads": 2}, KEPT).refused == 2


def test_another_end_is_no_refusal():
    assert connection_refusals.find("FATAL:  password authentication failed", {"clients": 10}, {}) is None


def test_a_services_answer_in_json_ends_where_the_message_does() -> None:
    text = '1 of 2 requests failed: {"error": "FATAL:  sorry, too many clients already"}; tps counts only the others'
    found = connection_refusals.find(text, {"concurrency": 200}, {})
    assert found is not None
    assert found.sentence(pooled=False) == "the server refused some clients: sorry, too many clients already"
