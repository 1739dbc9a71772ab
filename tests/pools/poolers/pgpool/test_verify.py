"""What PGPOOL SHOW prints against what was written."""

import pytest

from pools.poolers.pgpool import verify
from pools.poolers.pgpool.settings_catalog import by_name

KNOWN = by_name((4, 3))


@pytest.mark.parametrize(
    ("name", "live", "written", "equal"),
    [
        ("child_life_time", "5min", "300", True),
        ("client_idle_limit", "7h", "25200", True),
        ("client_idle_limit", "55s", "56", False),
        ("memqcache_total_size", "64MB", "67108864", True),
        ("delay_threshold", "25200B", "25200", True),
        ("log_rotation_size", "10MB", "10240", True),
        ("log_connections", "on", "1", True),
        ("syslog_facility", "LOCAL0", "local0", True),
        ("syslog_ident", "a\\", "a", False),
        ("health_check_user", "app", "app", True),
    ],
)
def test_units_and_spellings_are_seen_through(name: str, live: str, written: str, equal: bool) -> None:
    assert (verify.differences({name: live}, {name: written}, KNOWN) == {}) is equal


def test_a_setting_that_the_program_does_not_know_is_a_difference() -> None:
    assert verify.differences({}, {"log_pcp_processes": "on"}, KNOWN) == {"log_pcp_processes": ("", "on")}


def test_hidden_values_are_believed() -> None:
    assert verify.differences({"pool_passwd": "*****"}, {"pool_passwd": "x"}, KNOWN) == {}


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("num_init_children", True),
        ("backend_hostname0", True),
        ("backend_weight0", False),
        ("backend_flag0", True),
        ("log_hostname", False),
    ],
)
def test_what_is_read_at_the_start_waits_for_a_restart(name: str, waits: bool) -> None:
    assert verify.waits_for_restart(name, KNOWN) is waits


def test_log_files_need_a_restart_before_4_6_only() -> None:
    found = [verify.waits_for_restart("log_directory", by_name(version)) for version in ((4, 3), (4, 5), (4, 6))]
    assert found == [True, True, False]
