"""What the advice says of a release, beside what the program does: kept settings, refused logins, auth_type any."""

import socket
import struct

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.advice import client_advice, client_limits, mode_linter
from pools.advice.client_advice import Situation
from pools.inventory import poolers
from pools.models import Cluster, Mode, Pooler, PoolState
from pools.poolers.settings_schema import Version
from tests.live.pools.conftest import MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)


def shared_by_two(pgbouncer: PgBouncerServer, statement: str, shown: str) -> tuple[str, str]:
    """What each of two clients of one server connection reads after the first one's SET."""
    login = {"host": pgbouncer.host, "port": pgbouncer.port, "dbname": "orders", "user": "app"}
    login |= {"password": "app-password", "prepare_threshold": None}
    with psycopg.connect(autocommit=True, **login) as one, psycopg.connect(autocommit=True, **login) as other:
        one.execute(statement.encode())
        read = [client.execute(f"SHOW {shown}".encode()).fetchone()[0] for client in (one, other, one)]
        one.execute(f"RESET {shown}".encode())
    assert read[0] == read[2]
    return read[0], read[1]


def test_the_linter_finds_a_set_exactly_where_another_client_gets_it(
    pooler: Pooler, make_pool: MakePool, pgbouncer: PgBouncerServer, cluster: Cluster, postgres: PostgresServer
) -> None:
    pool = make_pool(size=1)
    deployment.apply_pooler(pooler)
    poolers.check(pooler)
    limits = client_limits.of(pooler)
    with postgres.connect("app") as session:
        reports = {name for name in ("IntervalStyle", "work_mem") if session.info.parameter_status(name) is not None}
    for name, value in (("IntervalStyle", "iso_8601"), ("work_mem", "'7MB'")):
        first, second = shared_by_two(pgbouncer, f"SET {name} = {value}", name)
        assert limits.keeps(name, reported=name in reports) is (first != second)
    assert "prepared statements" in mode_linter.lint(pool).limits[-1]


@pytest.mark.parametrize("ignored", ["extra_float_digits", "search_path"])
def test_java_is_told_of_a_refused_login_exactly_where_it_is_refused(
    pooler: Pooler, make_pool: MakePool, pgbouncer: PgBouncerServer, ignored: str
) -> None:
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    lines = [line for line in ini.read_text().splitlines() if not line.startswith("ignore_startup")]
    ini.write_text("\n".join([*lines, f"ignore_startup_parameters = {ignored}", ""]))
    pool = make_pool(mode=Mode.SESSION)
    deployment.apply_pooler(pooler)
    poolers.check(pooler)
    advised = {one.client for one in client_advice.advise(Situation(pool.mode, client_limits.of(pooler)))}
    assert ("JDBC" in advised) is refused(pgbouncer, extra_float_digits=b"2")


def refused(pgbouncer: PgBouncerServer, **parameters: bytes) -> bool:
    """Whether a start-up packet with these parameters is answered by an error, before any password."""
    given = {b"user": b"app", b"database": b"orders"} | {name.encode(): value for name, value in parameters.items()}
    body = struct.pack("!I", 196608) + b"".join(name + b"\0" + value + b"\0" for name, value in given.items()) + b"\0"
    with socket.create_connection((pgbouncer.host, pgbouncer.port), timeout=5) as client:
        client.sendall(struct.pack("!I", len(body) + 4) + body)
        return client.recv(1) == b"E"


def test_under_auth_type_any_a_pool_without_a_user_is_refused_by_that_name(
    pooler: Pooler, make_pool: MakePool, pgbouncer: PgBouncerServer, cluster: Cluster, version: Version
) -> None:
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    ini.write_text(ini.read_text().replace("auth_type = scram-sha-256", "auth_type = any"))
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    fixed, inbound = make_pool(), make_pool("inbound", user="")
    deployment.apply_pooler(pooler)
    state, reason = state_of(inbound)
    assert (state, "auth_type is any" in reason) == (PoolState.ROLLED_BACK, True), reason
    assert state_of(fixed)[0] == PoolState.APPLIED
