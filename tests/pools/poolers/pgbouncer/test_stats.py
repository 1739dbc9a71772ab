"""Figures of SHOW tables by database, also of consoles that list a row for each of its users."""

import pytest

from panel.quickstart.ports import free_port
from pools.errors import PoolerUnreachable
from pools.models import Pooler
from pools.poolers import local_process
from pools.poolers.console_sample import Counters, PoolFigures
from pools.poolers.pgbouncer import console, stats

# As pgcat answers (src/admin.rs, show_stats and show_pools): a row for each user, all with the same database; fewer
# columns than PgBouncer's.
STATS = [
    {"instance": "0", "database": "shop", "user": "web", "total_xact_count": "10000", "total_query_count": "30000"},
    {"instance": "0", "database": "shop", "user": "batch", "total_xact_count": "100", "total_query_count": "100"},
    {"instance": "1", "database": "other", "user": "web", "total_xact_count": "5", "total_query_count": "5"},
]
POOLS = [
    {"database": "shop", "user": "web", "cl_active": 3, "sv_active": 2, "maxwait": "1", "maxwait_us": "5000"},
    {"database": "shop", "user": "batch", "cl_active": 1, "sv_idle": 4, "maxwait": "0", "maxwait_us": "7000"},
]


def test_the_counters_of_a_database_are_the_sum_over_its_users() -> None:
    assert stats.counters(STATS) == {
        "shop": Counters(transactions=10_100, queries=30_100),
        "other": Counters(transactions=5, queries=5),
    }


def test_its_connections_are_too_and_its_wait_is_the_longest() -> None:
    assert stats.figures(POOLS) == {"shop": PoolFigures(cl_active=4, sv_active=2, sv_idle=4, maxwait_ms=1_005)}


def test_what_is_no_table_of_the_console_has_no_word_of_show() -> None:
    """The page of the console shows the rows of a poll by these words."""
    assert not set(stats.WHOLE) & set(console.WORDS)


@pytest.mark.parametrize(("version", "searches"), [("PgBouncer 1.18.0", 0), ("", 1)])
def test_a_poll_of_a_silent_pooler_that_a_check_knows_searches_no_processes(
    monkeypatch: pytest.MonkeyPatch, version: str, searches: int
) -> None:
    """To go through the processes of the host took longer than the polls of several consoles that answer."""
    searched: list[Pooler] = []
    monkeypatch.setattr(local_process, "pids", lambda pooler, _name: searched.append(pooler) or ())
    pooler = Pooler(name="gone", host="127.0.0.1", port=free_port(), admin_user="admin", server_version=version)
    with pytest.raises(PoolerUnreachable):
        stats.sample(pooler)
    assert len(searched) == searches
