"""Who stands below whom in the tree of blocked sessions."""

from dataclasses import replace

from pools.diagnosis import blocking_tree
from pools.diagnosis.sessions import ServerSessions
from tests.pools.diagnosis.test_causes import OPEN


def tree(*blocked: tuple[int, tuple[int, ...]]) -> list[tuple[int, int]]:
    """Depth and pid of each branch; each given session is a pid with those that it waits for."""
    sessions = {pid: replace(OPEN, pid=pid, blocked_by=by) for pid, by in blocked}
    return [(branch.depth, branch.pid) for branch in blocking_tree.of_sessions(ServerSessions(sessions), {})]


def test_each_blocked_session_stands_below_its_blocker() -> None:
    assert tree((1, ()), (2, (1,)), (3, (2,)), (4, (1,)), (9, ())) == [(0, 1), (1, 2), (2, 3), (1, 4)]


def test_one_that_waits_for_two_stands_below_the_first() -> None:
    assert tree((1, ()), (2, ()), (3, (1, 2))) == [(0, 1), (1, 3), (0, 2)]


def test_a_circle_is_shown_once() -> None:
    assert tree((1, (2,)), (2, (1,))) == [(0, 1), (1, 2)]


def test_a_prepared_transaction_is_a_branch_without_a_session() -> None:
    assert tree((5, (0,))) == [(0, 0), (1, 5)]
