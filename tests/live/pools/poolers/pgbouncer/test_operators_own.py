"""What the operator's PgBouncer serves already, from any file and by any look-up, outlives each apply."""

from collections.abc import Callable

import psycopg
import pytest

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.config_files import pooler_files
from pools.inventory import pools
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import preflight
from pools.poolers.pgbouncer.direct_login import Direct
from pools.poolers.pgbouncer.render import KEPT
from pools.poolers.pgbouncer.session import PgBouncerSession
from tests.live.pools.conftest import LogIn, MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)
QUERY = "SELECT usename, passwd FROM pg_shadow WHERE usename=$1"
Configure = Callable[..., None]


@pytest.fixture
def configure(pgbouncer: PgBouncerServer, postgres: PostgresServer) -> Configure:
    """Writes entries and settings of the operator's own, and has them read."""

    def write(entries: str, settings: str = "", last: str = "", **files: str) -> None:
        folder = pgbouncer.config_dir
        place = {"SERVER": f"host=127.0.0.1 port={postgres.port}", "DIR": str(folder), "ROLE": postgres.superuser}
        place["PASSWORD"] = postgres.password
        for name, text in {**files, "pgbouncer": _main(pgbouncer, entries, settings, last)}.items():
            for word, value in place.items():
                text = text.replace(f"@{word}@", value)
            account.write_private(folder / f"{name}.ini", text)
        users = (folder / "userlist.txt").read_text()
        account.write_private(folder / "userlist.txt", f'"{postgres.superuser}" "{postgres.password}"\n{users}')
        with pgbouncer.connect() as console:
            console.execute(b"RELOAD")

    return write


def _main(pgbouncer: PgBouncerServer, entries: str, settings: str, last: str) -> str:
    main = (pgbouncer.config_dir / "pgbouncer.ini").read_text()
    return main.replace("[databases]\n", f"[databases]\n{entries}\n") + settings + last


LOOK_UPS = {
    "any": {"entries": "* = @SERVER@ auth_user=@ROLE@", "settings": f"auth_query = {QUERY}\n"},
    "entry": {"entries": "app = @SERVER@ auth_user=@ROLE@", "settings": f"auth_query = {QUERY}\n"},
    "included": {
        "entries": "%include @DIR@/databases.ini",
        "settings": f"auth_query = {QUERY}\n",
        "databases": "app = @SERVER@ dbname=app auth_user=@ROLE@\n",
    },
    "global": {"entries": "app = @SERVER@", "settings": f"auth_user = @ROLE@\nauth_query = {QUERY}\n"},
}


@pytest.fixture(params=LOOK_UPS)
def looked_up(request: pytest.FixtureRequest, configure: Configure, log_in: LogIn) -> str:
    """`app` has logged in through an operator's entry, called app, that looks its users up."""
    configure(**LOOK_UPS[request.param])
    assert log_in("app") == "app"
    return str(request.param)


@pytest.mark.parametrize(("name", "fields"), [("app", {}), ("app", {"settings": {"min_pool_size": 1}}), ("other", {})])
def test_a_release_that_would_die_of_a_looked_up_user_is_not_given_one(
    name: str,
    fields: dict[str, object],
    looked_up: str,
    make_pool: MakePool,
    pooler: Pooler,
    log_in: LogIn,
    version: tuple[int, int],
) -> None:
    pool = make_pool(name, **fields)
    deployment.apply_pooler(pooler)
    state, reason = state_of(pool)
    assert [log_in("app") for _ in range(2)] == ["app", "app"], reason
    if name == "app" and looked_up != "any":
        assert (state, reason.endswith("already has an entry app: give the pool another name")) == ("rolled_back", True)
    elif version < (1, 24):
        assert state == PoolState.ROLLED_BACK
        assert "would die at the next login of app to app, where it has looked them up" in reason
        assert "update it to 1.24 or later, or give the pool another user" in reason
    else:
        assert (state, reason) == (PoolState.APPLIED, "")
        assert log_in(name) == "app"


INCLUDED = {
    "entries": "%include @DIR@/databases.ini",
    "databases": "orders = @SERVER@ dbname=postgres user=@ROLE@ password=@PASSWORD@ pool_size=4\n",
}


def test_an_entry_of_an_included_file_is_not_replaced(
    configure: Configure, make_pool: MakePool, pooler: Pooler, log_in: LogIn
) -> None:
    configure(**INCLUDED)
    pool, other = make_pool("orders"), make_pool("sales")
    deployment.apply_pooler(pooler)
    reason = "databases.ini already has an entry orders: give the pool another name"
    assert (state_of(pool), state_of(other)) == ((PoolState.ROLLED_BACK, reason), (PoolState.APPLIED, ""))
    assert log_in("orders", "postgres", "super-secret") == "postgres"


def test_an_entry_of_a_file_that_cant_be_read_here_is_not_replaced(
    configure: Configure,
    make_pool: MakePool,
    pooler: Pooler,
    log_in: LogIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(**INCLUDED)
    monkeypatch.setattr(pooler_files, "text_at", _unreadable)
    monkeypatch.setattr(preflight, "find", lambda *_: None)
    pool = make_pool("orders")
    deployment.apply_pooler(pooler)
    state, reason = state_of(pool)
    assert (state, "PgBouncer already serves an entry orders" in reason) == (PoolState.ROLLED_BACK, True)
    assert log_in("orders", "postgres", "super-secret") == "postgres"


def _unreadable(_pooler: Pooler, path: str) -> str:
    raise PermissionError(13, "Permission denied", path)


def test_a_pool_that_an_earlier_version_put_over_an_included_entry_can_be_removed(
    configure: Configure,
    make_pool: MakePool,
    pooler: Pooler,
    log_in: LogIn,
    pgbouncer: PgBouncerServer,
    version: tuple[int, int],
) -> None:
    pool = make_pool("orders")
    deployment.apply_pooler(pooler)
    configure(**INCLUDED)
    assert log_in("orders") == "app"
    pools.remove(pool)
    revision = deployment.apply_pooler(pooler)
    assert not Pool.objects.exists()
    if version < (1, 26):
        notes = [step["detail"] for step in revision.steps if step["step"] == "noted"]
        assert notes[0].startswith("entry orders of databases.ini is served again, but PgBouncer keeps what it knows")
        pgbouncer.stop()
        pgbouncer.start()
    assert log_in("orders", "postgres", "super-secret") == "postgres"


def test_files_and_sockets_below_an_include_are_not_those_of_the_trial_instance(
    configure: Configure, make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    lines = (pgbouncer.config_dir / "pgbouncer.ini").read_text().splitlines(keepends=True)
    own = "".join(line for line in lines if line.startswith(("pidfile", "listen_port", "auth_file")))
    configure("", f"%include @DIR@/tuning.ini\n{own}", tuning="verbose = 0\n")
    pool = make_pool()
    assert "a trial instance started on the files" in str(deployment.apply_pooler(pooler).steps)
    assert (state_of(pool), log_in("orders")) == ((PoolState.APPLIED, ""), "app")


def test_limits_of_an_included_file_are_not_replaced(configure: Configure, pooler: Pooler) -> None:
    configure("%include @DIR@/databases.ini", databases="[users]\napp = max_user_connections=7\n[databases]\n")
    asked = {"app": {"max_user_connections": 3}}
    pooler.edit(None, user_settings=asked, settings_state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    reason = "databases.ini already has limits for app: change them there"
    assert (pooler.settings_state, pooler.settings_reason) == (PoolState.ROLLED_BACK, reason)


@pytest.mark.parametrize("limits", ["max_user_connections=7", "pool_mode=session", "query_timeout=9"])
def test_limits_of_a_file_that_cant_be_read_here_are_not_replaced(
    limits: str,
    configure: Configure,
    pooler: Pooler,
    pgbouncer: PgBouncerServer,
    version: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if version < (1, 24) and limits.startswith("query_timeout"):
        pytest.skip("users have none there")
    configure("%include @DIR@/databases.ini", databases=f"[users]\napp = {limits}\n[databases]\n")
    monkeypatch.setattr(pooler_files, "text_at", _unreadable)
    monkeypatch.setattr(preflight, "find", lambda *_: None)
    ask_limits(pooler, "app")
    shown = limits.replace("=", " ")
    if limits.startswith("pool_mode") or (version >= (1, 24) and limits.startswith("max_user")):
        words = f"PgBouncer has limits for app already, which the panel never wrote ({shown}): change them in data"
    else:
        words = "databases.ini can't be read from here (Permission denied), and limits for app there would be replaced"
    assert (pooler.settings_state, pooler.settings_reason[: len(words)]) == (PoolState.ROLLED_BACK, words)
    if version >= (1, 24):  # before, users who may be looked up can have none
        ask_limits(pooler, "somebody.else")
        assert (pooler.settings_state, pooler.settings_reason) == (PoolState.APPLIED, "")
        ask_limits(pooler, "somebody.else", 4)  # the panel's own by now
        assert (pooler.settings_state, pooler.settings_reason) == (PoolState.APPLIED, "")


def test_limits_of_the_operators_that_count_instead_of_a_pools_own_are_noted(
    configure: Configure,
    make_pool: MakePool,
    pooler: Pooler,
    pgbouncer: PgBouncerServer,
    log_in: LogIn,
    version: tuple[int, int],
) -> None:
    configure("%include @DIR@/more.ini", more="[users]\napp = pool_mode=session max_user_connections=2\n[databases]\n")
    pool = make_pool("orders", size=3)
    revision = deployment.apply_pooler(pooler)
    assert (state_of(pool), log_in("orders")) == ((PoolState.APPLIED, ""), "app")
    notes = [
        step["detail"] for step in revision.steps if step["step"] == "noted" and "line 2 of more.ini" in step["detail"]
    ]
    with pgbouncer.connect() as console:
        cursor = console.execute(b"SHOW POOLS")
        columns = [column.name for column in cursor.description]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor]
    [mode] = [row["pool_mode"] for row in rows if row["database"] == "orders"]
    said = "limits app to pool_mode session, max_user_connections 2, which counts instead of what pool orders says"
    assert (mode, notes) == (("session", [f"line 2 of more.ini {said}"]) if version >= (1, 24) else ("transaction", []))


def ask_limits(pooler: Pooler, user: str, most: int = 3) -> None:
    asked = {user: {"max_user_connections": most}}
    pooler.refresh_from_db()
    pooler.edit(None, user_settings=asked, settings_state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()


@pytest.mark.parametrize(
    ("tuning", "is_applied", "words"),
    [
        ("max_client_conn = 321\n", True, ""),
        (
            "max_client_conn = 321\n[databases]\n",
            False,
            "line 1 of tuning.ini sets max_client_conn to 321 after the",
        ),
        ("[databases]\n[pgbouncer]\n@MAIN@", False, "line 2 of tuning.ini opens [pgbouncer] again after the panel's"),
    ],
    ids=["goes on", "leaves", "opens again"],
)
def test_a_setting_counts_above_an_include_or_the_line_that_sets_it_again_is_named(
    tuning: str, is_applied: bool, words: str, configure: Configure, pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    own = (pgbouncer.config_dir / "pgbouncer.ini").read_text().partition("[pgbouncer]\n")[2]
    own = own.replace("max_client_conn = 2000\n", "")
    configure("", "%include @DIR@/tuning.ini\n", tuning=tuning.replace("@MAIN@", own))
    before = (pgbouncer.config_dir / "pgbouncer.ini").read_text()
    pooler.edit(None, settings={"max_client_conn": 654}, settings_state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (pooler.settings_state == PoolState.APPLIED, pooler.settings_reason[: len(words)]) == (is_applied, words)
    with pgbouncer.connect() as console:
        live = {row[0]: row[1] for row in console.execute(b"SHOW CONFIG")}
    assert live["max_client_conn"] == ("654" if is_applied else "321" if "321" in tuning else "100")
    if not is_applied:
        assert (pgbouncer.config_dir / "pgbouncer.ini").read_text() == before


def test_settings_that_an_earlier_version_put_above_an_include_are_moved_below_it(
    configure: Configure, pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    pooler.edit(None, settings={"server_idle_timeout": 55}, settings_state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    configure("", "", tuning="server_idle_timeout = 44\n")
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    settings = f"%include {pgbouncer.config_dir}/pooldeck_settings.ini\n"
    account.write_private(
        ini, ini.read_text().replace(settings, f"{settings}%include {pgbouncer.config_dir}/tuning.ini\n")
    )
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    pooler.refresh_from_db()
    pooler.edit(None, settings={"server_idle_timeout": 66}, settings_state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (pooler.settings_state, pooler.settings_reason) == (PoolState.APPLIED, "")
    with pgbouncer.connect() as console:
        live = {row[0]: row[1] for row in console.execute(b"SHOW CONFIG")}
    assert live["server_idle_timeout"] == "66"


def test_a_name_that_the_operators_fallback_serves_may_become_a_pool_and_leave_again(
    configure: Configure, make_pool: MakePool, pooler: Pooler, log_in: LogIn, version: tuple[int, int]
) -> None:
    configure("* = @SERVER@ user=@ROLE@ password=@PASSWORD@")
    assert log_in("app", "postgres", "super-secret") == "postgres"
    pool = make_pool("app")
    deployment.apply_pooler(pooler)
    assert (state_of(pool), [log_in("app") for _ in range(3)]) == ((PoolState.APPLIED, ""), ["app"] * 3)
    assert log_in("postgres", "postgres", "super-secret") == "postgres"
    pools.remove(pool)
    deployment.apply_pooler(pooler)
    assert not Pool.objects.exists()
    assert log_in("app", "postgres", "super-secret") == "postgres"


def test_a_looked_up_user_is_let_in_after_a_pool_of_it_was_removed(
    looked_up: str,
    make_pool: MakePool,
    pooler: Pooler,
    log_in: LogIn,
    pgbouncer: PgBouncerServer,
    version: tuple[int, int],
) -> None:
    if version < (1, 24):  # it has to forget who logged in, before it may be told of them
        pgbouncer.stop()
        pgbouncer.start()
    pool = make_pool("other")
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert [log_in("other"), log_in("app")] == ["app", "app"]
    pools.remove(pool)
    deployment.apply_pooler(pooler)
    assert not Pool.objects.exists()
    assert log_in("app") == "app"
    with pytest.raises(psycopg.OperationalError):
        log_in("app", password="wrong")
    assert '"app"' in (pgbouncer.config_dir / "userlist.txt").read_text().partition(KEPT)[2]


def test_a_looked_up_user_is_let_in_after_a_pool_of_it_was_rolled_back(
    configure: Configure, make_pool: MakePool, pooler: Pooler, log_in: LogIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(**LOOK_UPS["entry"])

    def refuse(*_: object) -> None:
        raise Rejected("after RELOAD: it was refused")

    with monkeypatch.context() as patched:
        patched.setattr(PgBouncerSession, "log_in", refuse)
        pool = make_pool("other")
        deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.ROLLED_BACK, "after RELOAD: it was refused")
    assert log_in("app") == "app"
    make_pool("third", user="postgres")
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert log_in("app") == "app"


def test_a_user_whom_an_entry_looks_up_with_another_password_is_not_listed(
    configure: Configure,
    make_pool: MakePool,
    pooler: Pooler,
    cluster: Cluster,
    log_in: LogIn,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, int],
) -> None:
    if version < (1, 24):
        pytest.skip("refused for another reason")
    configure(**LOOK_UPS["entry"])
    assert log_in("app") == "app"
    cluster.role_passwords.filter(role="app").delete()
    known = cluster.role_passwords.model(cluster=cluster, role="app")
    known.password = "of-another-server"
    known.save(force_insert=True)
    monkeypatch.setattr(Direct, "try_changed", lambda *_: 1)  # there, it is the password
    pool = make_pool("other")
    deployment.apply_pooler(pooler)
    state, reason = state_of(pool)
    assert (state, "entry app, which is not the panel's, looks up app" in reason) == (PoolState.ROLLED_BACK, True)
    assert log_in("app") == "app"
