"""The memory budget of a server, against figures worked out by hand, and its proposals against the rule itself."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.clusters.memory_budget import GB, KB, MB, Change, MemoryBudget, Settings, pretty

TUNED = Settings(2000, 512 * MB, 4 * GB, 2 * GB, 2 * GB)  # The settings of the published article, for 28 GB.
DEFAULTS = Settings(100, 4 * MB, 128 * MB, 8 * MB, 64 * MB)
UNITS = {"kB": KB, "MB": MB, "GB": GB}


def read(value: str) -> int:
    """A setting as postgresql.conf has it: bytes, or a plain number."""
    return int(value) if value.isdigit() else int(value[:-2]) * UNITS[value[-2:]]


def applied(budget: MemoryBudget, *changes: Change) -> MemoryBudget:
    wanted = {change.setting: read(change.proposed) for change in changes}
    return MemoryBudget(replace(budget.settings, **wanted), budget.memory)


def test_the_published_tuned_settings_break_the_published_rule() -> None:
    budget = MemoryBudget(TUNED, 28 * GB)
    assert [term.size for term in budget.terms] == [1000 * GB, 4 * GB, 2 * GB, 2 * GB, int(2.8 * GB)]
    assert budget.terms[0].how == "max_connections 2,000 × work_mem 512MB"
    assert (budget.fits, budget.over_by) == (False, budget.total - 28 * GB)
    assert (round(budget.shared_share, 3), budget.shared_verdict) == (0.143, "low")
    assert [(one.setting, one.now, one.proposed, one.needs_restart) for one in budget.changes] == [
        ("shared_buffers", "4GB", "7GB", True),
        ("work_mem", "512MB", "7MB", False),
        ("max_connections", "2000", "25", True),
    ]


def test_defaults_fit_a_small_machine_but_use_little_of_it() -> None:
    budget = MemoryBudget(DEFAULTS, 4 * GB)
    assert (budget.fits, budget.shared_verdict) == (True, "low")
    assert [(one.setting, one.proposed) for one in budget.changes] == [("shared_buffers", "1GB")]


@pytest.mark.parametrize(("buffers", "verdict"), [(249, "low"), (250, "good"), (400, "good"), (401, "high")])
def test_shared_buffers_are_judged_by_their_share(buffers: int, verdict: str) -> None:
    assert MemoryBudget(replace(DEFAULTS, shared_buffers=buffers * MB), 1000 * MB).shared_verdict == verdict


def test_without_the_memory_nothing_is_judged() -> None:
    budget = MemoryBudget(TUNED, None)
    assert (budget.fits, budget.over_by, budget.shared_share, budget.shared_verdict) == (None, None, None, "")
    assert budget.changes == ()
    assert budget.total > 1000 * GB


def test_a_good_server_needs_no_change() -> None:
    budget = MemoryBudget(replace(DEFAULTS, shared_buffers=GB), 4 * GB)
    assert (budget.fits, budget.changes) == (True, ())


@pytest.mark.parametrize(
    ("size", "written"),
    [(64 * KB, "64kB"), (4 * MB, "4MB"), (1536 * MB, "1536MB"), (2 * GB, "2GB"), (8193 * KB, "8193kB")],
)
def test_sizes_are_written_as_the_configuration_takes_them(size: int, written: str) -> None:
    assert (pretty(size), read(pretty(size))) == (written, size)


@given(
    connections=st.integers(1, 20_000),
    work_mem=st.integers(64, 4_000_000).map(lambda kb: kb * KB),
    shared=st.integers(16, 4_000_000).map(lambda pages: pages * 8 * KB),
    temp=st.integers(100, 500_000).map(lambda pages: pages * 8 * KB),
    maintenance=st.integers(1024, 8_000_000).map(lambda kb: kb * KB),
    memory_mb=st.integers(256, 1_000_000),
)
def test_what_is_proposed_keeps_the_rule(
    connections: int, work_mem: int, shared: int, temp: int, maintenance: int, memory_mb: int
) -> None:
    budget = MemoryBudget(Settings(connections, work_mem, shared, temp, maintenance), memory_mb * MB)
    common = [one for one in budget.changes if one.setting not in ("work_mem", "max_connections")]
    either = [one for one in budget.changes if one.setting in ("work_mem", "max_connections")]
    if not either and not applied(budget, *common).fits:
        assert memory_mb < 512  # too little for ten sessions
        return
    alone = [[one] for one in either if "alone" in one.why] or [either]
    for some in alone:
        after = applied(budget, *common, *some)
        assert after.fits
        assert after.shared_verdict == "good"
