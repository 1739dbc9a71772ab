"""Logins that real PgBouncers refused, counted in the logs that they wrote, and the event about them."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer, free_port
from pools import tasks
from pools.models import Event, EventKind, Pooler, Threshold
from pools.monitoring import alerting, refused_logins
from pools.monitoring.refused_logins import Refusals
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, TestPgBouncer
from tests.live.pools.monitoring.conftest import shared_redis

__all__ = ["shared_redis"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pgbouncer(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """One of each release, with a log."""
    home = tmp_path_factory.mktemp("pgbouncer")
    server = TestPgBouncer(home, free_port(), "pooldeck", "console-password", program)
    account.make_folder(home / "log")
    server.own_settings = {"logfile": home / "log" / "pgbouncer.log", "server_login_retry": 1}
    with server:
        yield server


@pytest.fixture
def log(pgbouncer: PgBouncerServer) -> Path:
    return pgbouncer.home / "log" / "pgbouncer.log"


class Clock(SimpleNamespace):
    """The time of the counts, moved ahead of the real one."""

    ahead_s = 0.0

    def time(self) -> float:
        return time.time() + self.ahead_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, shared_redis: RedisServer) -> Clock:
    made = Clock()
    monkeypatch.setattr(refused_logins, "time", made)
    monkeypatch.setattr(refused_logins, "EVERY_S", 0.002)
    Threshold.objects.create(kind=EventKind.LOGINS, opens_at=5, closes_at=1, for_s=0)
    return made


def log_in(pgbouncer: PgBouncerServer, password: str, times: int = 1, database: str = "pgbouncer") -> list[str]:
    """Log in so often as the console's user; return what it said each time."""
    address = {"host": pgbouncer.host, "port": pgbouncer.port, "user": pgbouncer.admin_user, "dbname": database}
    answers = []
    for _number in range(times):
        try:
            psycopg.connect(**address, password=password, connect_timeout=5).close()
        except psycopg.OperationalError as error:
            answers.append(str(error))
    return answers


def counted(pooler: Pooler, clock: Clock, after_s: float = 30) -> Refusals:
    """Read the log so much later, judge it, and return what is known then."""
    time.sleep(0.05)  # the claim of the reading before
    clock.ahead_s += after_s
    tasks.count_refused_logins()
    alerting.judge({}, logins=refused_logins.of([pooler]))
    return refused_logins.of_one(pooler)


def test_wrong_passwords_are_an_event_until_they_end(pooler: Pooler, pgbouncer: PgBouncerServer, clock: Clock) -> None:
    assert len(log_in(pgbouncer, "wrong", 9)) == 9
    assert counted(pooler, clock).unknown == "its log was read for the first time a moment ago"
    assert counted(pooler, clock) == Refusals(at=pytest.approx(clock.time(), abs=1)), "older failures are no news"

    assert len(log_in(pgbouncer, "wrong", 6)) == 6
    assert log_in(pgbouncer, pgbouncer.admin_password, database="nowhere")
    found = counted(pooler, clock)
    assert (found.count, dict(found.reasons)) == (7, {"password_failed": 6, "no_such_database": 1})
    assert found.users == (("pooldeck", 7),)
    assert dict(found.databases) == {"pgbouncer": 6, "nowhere": 1}
    assert found.addresses == (("127.0.0.1", 7),)
    event = Event.objects.ongoing().get(kind=EventKind.LOGINS)
    assert (event.subject_id, event.log_url) == (pooler.pk, f"/poolers/{pooler.pk}/log/?refused=1")
    assert event.message == (
        "7 logins within a minute were refused: password_failed × 6, no_such_database × 1; users: pooldeck × 7; "
        "databases: pgbouncer × 6, nowhere × 1; addresses: 127.0.0.1 × 7"
    )

    assert log_in(pgbouncer, pgbouncer.admin_password, 3) == []
    counted(pooler, clock)
    assert Event.objects.ongoing().get(kind=EventKind.LOGINS) == event
    assert counted(pooler, clock, 61).reasons == ()
    assert not Event.objects.ongoing().filter(kind=EventKind.LOGINS).exists()


def test_none_is_lost_or_counted_twice_over_a_rotation(
    pooler: Pooler, pgbouncer: PgBouncerServer, clock: Clock, log: Path
) -> None:
    counted(pooler, clock)
    log_in(pgbouncer, "wrong", 2)
    log.rename(f"{log}.1")
    log_in(pgbouncer, "wrong", 3)  # it writes to the file that it has open
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    log_in(pgbouncer, "wrong", 4)
    assert dict(counted(pooler, clock, 10).reasons) == {"password_failed": 9}
    log_in(pgbouncer, "wrong", 1)
    assert dict(counted(pooler, clock, 10).reasons) == {"password_failed": 10}
    log.write_bytes(b"")  # as copytruncate does
    log_in(pgbouncer, "wrong", 1)
    assert dict(counted(pooler, clock, 10).reasons) == {"password_failed": 11}


def test_a_log_that_can_not_be_read_ends_no_event_and_says_why(
    pooler: Pooler, pgbouncer: PgBouncerServer, clock: Clock, log: Path
) -> None:
    counted(pooler, clock)
    log_in(pgbouncer, "wrong", 8)
    counted(pooler, clock)
    aside = log.rename(f"{log}.aside")
    for _number in range(3):
        found = counted(pooler, clock, 61)
        assert (found.unknown.partition(" is not there")[0], found.reasons) == (str(log), ())
    assert Event.objects.ongoing().get(kind=EventKind.LOGINS)
    aside.rename(log)
    assert counted(pooler, clock, 61).unknown == ""
    assert not Event.objects.ongoing().filter(kind=EventKind.LOGINS).exists()


def test_logins_that_a_server_refuses_count_too(
    pooler: Pooler, pgbouncer: PgBouncerServer, clock: Clock, postgres: PostgresServer
) -> None:
    counted(pooler, clock)
    ini, userlist = pgbouncer.config_dir / "pgbouncer.ini", pgbouncer.config_dir / "userlist.txt"
    entry = f"web = host={postgres.host} port={postgres.port} dbname={APP_DATABASE} user={APP_ROLE} password=wrong"
    ini.write_text(ini.read_text().replace("[databases]", f"[databases]\n{entry}"))
    userlist.write_text(userlist.read_text() + f'"{APP_ROLE}" "{APP_PASSWORD}"\n')
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(
            host=pgbouncer.host, port=pgbouncer.port, user=APP_ROLE, password=APP_PASSWORD, dbname="web"
        ).close()
    found = counted(pooler, clock)
    assert dict(found.reasons) == {"server_login_failed": 2}, "that of the server, and that of the client"
    assert (found.users, found.databases) == (((APP_ROLE, 1),), (("web", 1),))


def test_a_log_without_refusals_is_no_proof_that_there_are_none(
    pooler: Pooler, pgbouncer: PgBouncerServer, clock: Clock
) -> None:
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    ini.write_text(f"{ini.read_text()}log_pooler_errors = 0\nlog_disconnections = 0\n")
    assert "set log_pooler_errors to 1" in counted(pooler, clock).unknown
