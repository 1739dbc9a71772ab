"""Settings of a real PgBouncer, asked for in the panel: live, read back, and taken away again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from core.lib.private_text import for_admins
from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.deployment import drift
from pools.inventory import pooler_settings_validation
from pools.models import Pooler, PoolState, RevisionState
from pools.poolers.settings_schema import Scope
from tests.live.pools.conftest import LogIn, MakePool
from tests.live.pools.poolers.pgbouncer.conftest import Config

pytestmark = pytest.mark.django_db(transaction=True)

Spec = Callable[..., Pooler]


def outcome(pooler: Pooler) -> tuple[str, str]:
    pooler.refresh_from_db()
    return pooler.settings_state, for_admins(pooler.settings_reason)


def names_in(pooler: Pooler) -> list[str]:
    return [path.name for path in Path(pooler.config_dir).iterdir()]


def test_settings_go_live_and_are_read_back(pooler: Pooler, spec: Spec, config: Config) -> None:
    spec(settings={"query_timeout": 12.5, "max_client_conn": 77, "log_stats": False, "server_check_query": "select 2"})
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert outcome(pooler) == (PoolState.APPLIED, "")
    live = config()
    found = {name: live[name] for name in ("query_timeout", "max_client_conn", "log_stats", "server_check_query")}
    expected = {"query_timeout": "12.5", "max_client_conn": "77", "log_stats": "0", "server_check_query": "select 2"}
    assert found == expected
    assert live["admin_users"] == pooler.admin_user  # the operator's own lines still hold


def test_settings_are_empty_on_purpose_as_they_are_read_back(
    pooler: Pooler, spec: Spec, config: Config, make_pool: MakePool, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    ini.write_text(ini.read_text().replace("[pgbouncer]\n", "[pgbouncer]\nserver_check_query = select 3\n"))
    make_pool()
    offered = pooler_settings_validation.offered(pooler, Scope.PROGRAM)
    empty = {name: "" for name, setting in offered.items() if setting.may_be_empty}
    assert "server_check_query" in empty
    spec(settings=empty | {"verbose": 1})
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, revision.reason, outcome(pooler)) == (RevisionState.APPLIED, "", (PoolState.APPLIED, ""))
    waiting = {one["name"] for one in pooler.needs_restart}
    assert waiting <= {name for name in empty if offered[name].restart}
    live = config()
    assert {name: live[name] or "" for name in empty.keys() - waiting} == dict.fromkeys(empty.keys() - waiting, "")
    drift.check(pooler)
    pooler.refresh_from_db()
    assert (pooler.drift, log_in("orders")) == ([], "app")
    make_pool("second")  # A change of pools keeps the other settings.
    deployment.apply_pooler(pooler)
    assert not config()["server_check_query"]
    pgbouncer.stop()
    pgbouncer.start()
    assert {name: config()[name] or "" for name in empty} == empty
    spec(settings={})
    deployment.apply_pooler(pooler)
    assert config()["server_check_query"] == "select 3"


def test_a_setting_taken_away_gives_way_to_the_operators_own_value(pooler: Pooler, spec: Spec, config: Config) -> None:
    spec(settings={"max_client_conn": 77, "query_timeout": 9})
    deployment.apply_pooler(pooler)
    spec(settings={})
    deployment.apply_pooler(pooler)
    assert outcome(pooler) == (PoolState.APPLIED, "")
    assert (config()["max_client_conn"], config()["query_timeout"]) == ("2000", "0")


def test_pools_stay_while_settings_change_and_settings_while_pools_do(
    pooler: Pooler, spec: Spec, config: Config, make_pool: MakePool, log_in: LogIn
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    spec(settings={"query_timeout": 9})
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, log_in("orders")) == (RevisionState.APPLIED, "app")
    assert "app through orders" in [step["detail"] for step in revision.steps]  # the witness
    make_pool("second")
    deployment.apply_pooler(pooler)
    assert (config()["query_timeout"], log_in("second")) == ("9", "app")


def test_what_waits_for_a_restart_is_named_and_no_failure(
    pooler: Pooler, spec: Spec, config: Config, pgbouncer: PgBouncerServer
) -> None:
    spec(settings={"listen_backlog": 64, "unix_socket_mode": "0770", "query_timeout": 9})
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    pooler.refresh_from_db()
    waiting = {(one["name"], one["wanted"]) for one in pooler.needs_restart}
    assert waiting == {("listen_backlog", "64"), ("unix_socket_mode", "0770")}
    assert (config()["listen_backlog"], config()["query_timeout"]) == ("128", "9")
    pgbouncer.stop()
    pgbouncer.start()
    assert config()["listen_backlog"] == "64"
    spec(settings={"listen_backlog": 64, "unix_socket_mode": "0770"})
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert pooler.needs_restart == []


def test_a_setting_that_outlives_its_removal_is_said_to_need_a_restart(
    pooler: Pooler, spec: Spec, config: Config
) -> None:
    spec(settings={"verbose": 1})
    deployment.apply_pooler(pooler)
    spec(settings={})
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert config()["verbose"] == "1"
    assert pooler.needs_restart == [{"name": "verbose", "live": "1", "wanted": ""}]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"listen_port": 7000}, "listen_port is not set by the panel"),
        ({"auth_type": "cert"}, "so its console would be shut"),
        ({"client_tls_sslmode": "verify-full"}, "so its console would be shut"),
        ({"no_such": 1}, "no_such is not a setting of this pooler"),
        ({"query_timeout": "soon"}, "query_timeout='soon' is not a number of seconds"),
    ],
)
def test_what_must_not_be_is_refused_before_anything_is_written(
    settings: dict[str, object], reason: str, pooler: Pooler, spec: Spec, config: Config, make_pool: MakePool
) -> None:
    pool = make_pool()
    spec(settings=settings)
    deployment.apply_pooler(pooler)
    state, reported = outcome(pooler)
    assert (state, reason in reported) == (PoolState.ROLLED_BACK, True), reported
    pool.refresh_from_db()
    assert pool.state == PoolState.APPLIED  # the pool is not to blame


def test_settings_that_break_the_console_login_are_rolled_back(
    pooler: Pooler, spec: Spec, config: Config, make_pool: MakePool, log_in: LogIn
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    hba = pooler.given_files.model(pooler=pooler, setting="auth_hba_file")
    hba.content = "host all all 192.0.2.0/24 scram-sha-256\n"
    hba.save()
    spec(settings={"auth_type": "hba"})
    deployment.apply_pooler(pooler)
    state, reason = outcome(pooler)
    assert (state, "the console refused its admin" in reason) == (PoolState.ROLLED_BACK, True), reason
    assert (config()["auth_type"], config()["auth_hba_file"], log_in("orders")) == ("hba", rules_of(pooler), "app")
    assert "pooldeck_hba.conf" not in names_in(pooler)


def rules_of(pooler: Pooler) -> str:
    """The file that has the pools' rules before those that were given."""
    return f"{pooler.config_dir}/pooldeck_access.conf"


def test_an_hba_file_rules_who_logs_in(
    pooler: Pooler, spec: Spec, config: Config, make_pool: MakePool, log_in: LogIn
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    hba = pooler.given_files.model(pooler=pooler, setting="auth_hba_file")
    hba.content = "host all all 127.0.0.1/32 scram-sha-256\n"
    hba.save()
    spec(settings={"auth_type": "hba"})
    deployment.apply_pooler(pooler)
    assert outcome(pooler) == (PoolState.APPLIED, "")
    assert config()["auth_hba_file"] == rules_of(pooler)
    assert Path(rules_of(pooler)).read_text().endswith(hba.content)
    assert log_in("orders") == "app"
    hba.delete()
    spec(settings={})
    deployment.apply_pooler(pooler)
    assert outcome(pooler) == (PoolState.APPLIED, "")
    assert (config()["auth_type"], log_in("orders")) == ("hba", "app")
    assert "own auth_type = scram-sha-256" in Path(rules_of(pooler)).read_text()
    assert "pooldeck_hba.conf" not in names_in(pooler)
