"""Consoles that stay open between polls, of a real PgBouncer: one login for many polls, and no harm to the pooler."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from panel.quickstart.servers import PgBouncerServer, free_port
from pools.errors import PoolerUnreachable
from pools.inventory import poolers
from pools.models import Pooler
from pools.poolers import KINDS
from pools.poolers.pgbouncer import kept_consoles
from tests.live.conftest import TestPgBouncer
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins and ends without a kept console, and none is closed for a slow machine's sake."""
    monkeypatch.setattr(kept_consoles, "IDLE_S", 600.0)
    kept_consoles.close_all()
    yield
    kept_consoles.close_all()


@pytest.fixture
def newer(trixie_pgbouncer: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """Debian 13's, which ends after SIGTERM once its last client has left."""
    home = tmp_path_factory.mktemp("pgbouncer")
    with TestPgBouncer(home, free_port(), "pooldeck", "console-password", str(trixie_pgbouncer)) as server:
        yield server


def logins(server: PgBouncerServer) -> int:
    return server.log_path.read_text().count("login attempt: db=pgbouncer")


def poll(pooler: Pooler) -> None:
    KINDS[pooler.kind].sample(pooler)


def watched(server: PgBouncerServer) -> Pooler:
    """A pooler that was checked once, so that its release is known."""
    pooler = Pooler(name="newer", host=server.host, port=server.port, admin_user=server.admin_user)
    pooler.admin_password = server.admin_password
    pooler.save()
    assert poolers.check(pooler) == ""
    return pooler


def test_a_check_and_polls_after_it_take_one_login(pgbouncer: PgBouncerServer, pooler: Pooler) -> None:
    before = logins(pgbouncer)
    poolers.check(pooler)
    for _nth in range(5):
        poll(pooler)
    assert logins(pgbouncer) - before == 1


def test_each_check_logs_in_anew(pgbouncer: PgBouncerServer, pooler: Pooler) -> None:
    before = logins(pgbouncer)
    poolers.check(pooler)
    poolers.check(pooler)
    assert logins(pgbouncer) - before == 2


def test_a_console_is_kept_for_its_time_only(
    pgbouncer: PgBouncerServer, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_consoles, "LONGEST_S", 0.0)
    before = logins(pgbouncer)
    poll(pooler)
    poll(pooler)
    assert logins(pgbouncer) - before == 2


def test_an_idle_console_is_closed_by_itself(
    pgbouncer: PgBouncerServer, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_consoles, "IDLE_S", 0.2)
    poll(pooler)
    until(lambda: not kept_consoles._shelf.kept)
    until(lambda: "closing because: client close request" in pgbouncer.log_path.read_text())


def test_an_edited_pooler_is_logged_in_to_anew(pgbouncer: PgBouncerServer, pooler: Pooler) -> None:
    poll(pooler)
    before = logins(pgbouncer)
    poll(pooler.edit(None, client_host="pool.example"))
    assert logins(pgbouncer) - before == 1


def test_a_restarted_pooler_is_logged_in_to_anew(pgbouncer: PgBouncerServer, pooler: Pooler) -> None:
    poll(pooler)
    pgbouncer.stop()
    pgbouncer.start()
    before = logins(pgbouncer)
    poll(pooler)
    assert logins(pgbouncer) - before == 1


def test_one_that_is_to_end_is_not_kept_from_it(newer: PgBouncerServer) -> None:
    pooler = watched(newer)
    poll(pooler)
    assert kept_consoles._shelf.kept
    newer.kill(signal.SIGTERM)
    until(lambda: newer.is_stopping)
    assert not newer.has_ended
    with pytest.raises(PoolerUnreachable):
        poll(pooler)
    until(lambda: newer.has_ended)
