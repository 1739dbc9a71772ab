"""How far somebody who is no admin may go with settings of tuning; the settings as PostgreSQL 15 shows them."""

import pytest

from benchmarks.library.settings_profiles import limits
from benchmarks.library.settings_profiles.guc_values import ServerSetting, read
from benchmarks.library.settings_profiles.limits import Server

GB = 1024**3
BUFFERS = ServerSetting("shared_buffers", "16384", "8kB", "postmaster", "integer", minimum="16", maximum="1073741823")
WORK_MEM = ServerSetting("work_mem", "4096", "kB", "user", "integer", minimum="64", maximum="2147483647")
WAL = ServerSetting("max_wal_size", "1024", "MB", "sighup", "integer", minimum="2", maximum="2147483647")
CONNECTIONS = ServerSetting("max_connections", "100", "", "postmaster", "integer", minimum="1", maximum="262143")
HUGE = ServerSetting("huge_pages", "try", "", "postmaster", "enum", choices=("off", "on", "try"))
COST = ServerSetting("random_page_cost", "4", "", "user", "real", minimum="0", maximum="1.79769e+308")


@pytest.mark.parametrize(
    ("known", "value", "server", "allowed"),
    [
        (BUFFERS, "3GB", Server(8 * GB), True),
        (BUFFERS, "4GB", Server(8 * GB), False),
        (BUFFERS, "500GB", Server(), False),
        (BUFFERS, "512MB", Server(), True),
        (WORK_MEM, "2GB", Server(8 * GB), True),
        (WORK_MEM, "1TB", Server(8 * GB), False),
        (WAL, "64GB", Server(), True),
        (WAL, "1TB", Server(), False),
        (CONNECTIONS, "1150", Server(), True),
        (CONNECTIONS, "4", Server(), False),
        (CONNECTIONS, "200000", Server(), False),
        (CONNECTIONS, "200", Server(has_standbys=True), False),
        (CONNECTIONS, "100", Server(has_standbys=True), True),
        (HUGE, "on", Server(), False),
        (HUGE, "1", Server(), False),
        (HUGE, "off", Server(), True),
        (COST, "1.1", Server(), True),
    ],
)
def test_a_value_that_may_keep_the_server_from_starting_asks_for_an_admin(
    known: ServerSetting, value: str, server: Server, allowed: bool
) -> None:
    reason = limits.beyond(known, read(known, value), server)
    assert (reason == "") is allowed, reason
    assert allowed or reason.startswith(f"{known.name}: ")
