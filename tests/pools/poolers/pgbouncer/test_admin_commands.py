"""How pools are named to the console, and what a busy server connection tells of its client."""

import pytest

from pools.errors import ConsoleRefused
from pools.poolers.admin_commands import Blocker
from pools.poolers.pgbouncer import admin_commands

SERVER = {
    "user": "app",
    "state": "active",
    "link": "0x55c7",
    "remote_pid": 4242,
    "request_time": "2026-11-20 14:01:00 UTC",
}
CLIENT = {
    "user": "shop",
    "application_name": "batch",
    "addr": "10.0.0.9",
    "port": 4711,
    "connect_time": "2026-11-20 14:00:00 UTC",
    "request_time": "2026-11-20 14:01:30 UTC",
}


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("orders", "orders"),
        ("Orders_2", "Orders_2"),
        ("or-ders", '"or-ders"'),
        ("or.ders", '"or.ders"'),
        ('or"ders', '"or""ders"'),
        ("a" * 63, "a" * 63),
        ("-" * 61, '"' + "-" * 61 + '"'),
    ],
)
def test_names_are_quoted_where_the_console_needs_it(name, argument):
    assert admin_commands._argument(name) == argument


def test_a_name_the_console_would_cut_is_refused_with_the_way_out():
    with pytest.raises(ConsoleRefused, match="a name of at most 61, or of letters, digits and _ alone"):
        admin_commands._argument("-" * 62)


def test_a_blocker_is_the_client_that_a_server_is_linked_to():
    assert admin_commands._blocker(SERVER, CLIENT) == Blocker(
        user="shop",
        application="batch",
        address="10.0.0.9:4711",
        state="active",
        connected_at="2026-11-20 14:00:00 UTC",
        requested_at="2026-11-20 14:01:30 UTC",
        server_pid=4242,
    )


def test_a_server_whose_client_is_gone_still_tells_its_own():
    assert admin_commands._blocker(SERVER | {"state": "tested", "remote_pid": None}, {}) == Blocker(
        user="app",
        application="",
        address="",
        state="tested",
        connected_at="",
        requested_at="2026-11-20 14:01:00 UTC",
        server_pid=0,
    )
