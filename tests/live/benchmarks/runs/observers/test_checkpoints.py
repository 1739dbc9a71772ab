"""Checkpoints of real servers of several versions: those that were begun are told, those that were skipped are not."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from benchmarks.runs.observers.server import DONE, figures, statement
from panel.quickstart.servers import PostgresServer, free_port
from tests.live.standbys import until
from tests.postgresqls import bindirs

SOON = {"checkpoint_timeout": "30s", "autovacuum": "off"}  # the shortest there is
WITHIN_S = 150
Session = psycopg.Connection[dict[str, Any]]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Session]]:
    """A session with a server of each version, on which nothing happens but what a test does."""
    with ExitStack() as running:
        found: dict[str, Session] = {}
        for version, bindir in bindirs().items():
            home = tmp_path_factory.mktemp(f"checkpoints-{version}")
            server = PostgresServer(home, free_port(), password="own-secret", bindir=bindir, settings=SOON)
            found[version] = running.enter_context(running.enter_context(server).connect())
            found[version].row_factory = dict_row
        yield found


def seen(session: Session) -> dict[str, Any]:
    """What the watcher's own statement says."""
    row = session.execute(statement(session.info.server_version), {"database": session.info.dbname}).fetchone()
    assert row is not None
    return dict(row)


@pytest.mark.slow
def test_a_checkpoint_that_is_skipped_is_no_checkpoint(sessions: dict[str, Session]) -> None:
    for session in sessions.values():
        session.execute("VACUUM (FREEZE)")  # With checksums, the first read writes too.
        session.execute("CHECKPOINT")
    skipped: set[str] = set()
    before = {version: seen(session) for version, session in sessions.items()}

    def all_skipped_one() -> bool:
        for version, session in sessions.items():
            first, now = before[version], seen(session)
            if now["checkpoints_timed"] > first["checkpoints_timed"]:
                if all(now.get(name) == first.get(name) for name in DONE):
                    assert figures(first, now)["checkpoints_timed"] == 0
                    skipped.add(version)
                before[version] = now
        return skipped == set(sessions)

    assert until(all_skipped_one, WITHIN_S)


def test_a_checkpoint_that_writes_is_told_once(sessions: dict[str, Session]) -> None:
    for session in sessions.values():
        before, described = seen(session), 0
        session.execute("CREATE TABLE filled AS SELECT generate_series(1, 10000) AS id")
        session.execute("CHECKPOINT")

        def told_by_now(session: Session = session) -> int:
            nonlocal before, described
            now = seen(session)
            described += int(str(figures(before, now)["checkpoints_requested"]))
            before = now
            return described

        assert until(told_by_now) == 1
