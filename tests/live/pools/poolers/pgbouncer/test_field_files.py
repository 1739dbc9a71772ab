"""Files of PgBouncer as operators have them: the pool works, settings are read back, and their lines stay as they are.

Reductions of public reports: CR LF line ends (#165, #620), a section opened
twice (Percona's operator, #108), the console by its socket (#345), a password that begins with a quote (#1363).
"""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.inventory import pooler_settings, poolers
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.live.pools.conftest import LogIn, MakePool, state_of
from tests.pools.records import know_password

pytestmark = pytest.mark.django_db(transaction=True)
Edit = Callable[[Path], None]


def with_crlf(folder: Path) -> None:
    for name in ("pgbouncer.ini", "userlist.txt"):
        path = folder / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def with_a_section_twice(folder: Path) -> None:
    (folder / "custom.ini").write_text("query_wait_timeout = 33\n")
    ini = folder / "pgbouncer.ini"
    ini.write_text(
        ini.read_text().replace("[pgbouncer]\n", f"[pgbouncer]\n%include {folder}/custom.ini\n[pgbouncer]\n")
    )


@pytest.mark.parametrize("edit", [with_crlf, with_a_section_twice])
def test_a_pool_and_a_setting_are_applied_and_the_operators_lines_stay(
    pooler: Pooler, make_pool: MakePool, pgbouncer: PgBouncerServer, log_in: LogIn, edit: Edit
) -> None:
    edit(pgbouncer.config_dir)
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    own = ini.read_bytes()
    poolers.check(pooler)
    pooler.refresh_from_db()
    pooler_settings.change_settings(pooler, {"server_idle_timeout": 55})
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert log_in(pool.name) == "app"
    pooler.refresh_from_db()
    assert (pooler.settings_state, pooler.drift) == (PoolState.APPLIED, [])
    with pgbouncer.connect() as console:
        live = {row[0]: row[1] for row in console.execute(b"SHOW CONFIG")}
    assert (live["server_idle_timeout"], live["max_client_conn"]) == ("55", "2000")
    kept = ini.read_bytes().splitlines(keepends=True)
    assert [line for line in own.splitlines(keepends=True) if line not in kept] == []


def test_a_pooler_is_registered_and_used_by_its_socket(
    pooler: Pooler, make_pool: MakePool, pgbouncer: PgBouncerServer
) -> None:
    pooler.host = str(pgbouncer.socket_folder)
    pooler.admin_password = pgbouncer.admin_password
    pooler.save()
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    login = {"host": pooler.host, "port": pooler.port, "dbname": pool.name, "user": "app", "password": "app-password"}
    with psycopg.connect(autocommit=True, **login) as session:
        assert session.execute(b"SELECT current_user").fetchone() == ("app",)


@pytest.mark.parametrize(
    ("role", "password"), [("quoted", "'tisAPass"), ("signs", "(q=7R+<wXa1L8t$@%GrZ;<"), ("etl@reports", "x y")]
)
def test_roles_and_passwords_of_signs_pass_every_grammar(
    pooler: Pooler,
    make_pool: MakePool,
    cluster: Cluster,
    postgres: PostgresServer,
    log_in: LogIn,
    role: str,
    password: str,
) -> None:
    name = sql.Identifier(role)
    with postgres.connect("app") as session:
        session.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(name))
        session.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(password)))
    know_password(cluster, role, password)
    pool = make_pool(user=role)
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert log_in(pool.name, role, password) == role
    Pool.objects.filter(pk=pool.pk).delete()
