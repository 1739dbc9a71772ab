"""The catalog against PGPOOL SHOW ALL of the program: names, defaults, and what a reload takes."""

import pytest

from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from pools.models import Pooler
from pools.poolers import KINDS
from pools.poolers.pgpool import pcp, render, sql, verify
from pools.poolers.pgpool.config_builder import rendered
from pools.poolers.pgpool.manual_edits import reason_for
from pools.poolers.pgpool.settings_catalog import RULES, by_name
from pools.poolers.settings_schema import Setting, Type
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)

# given by the fixture's own pgpool.conf
GIVEN = {"num_init_children", "max_pool", "backend_clustering_mode", "enable_shared_relcache"}
GIVEN |= {"failover_on_backend_error"}
OTHERWISE = {
    "memqcache_memcached_port": "77",
    "min_spare_children": "11",
    "max_spare_children": "22",
    "log_destination": "syslog,stderr",
    "num_init_children": "31",
    "log_rotation_age": "2880",
    "log_rotation_size": "20480",
}


@pytest.fixture
def known(pgpool_pooler: Pooler) -> dict[str, Setting]:
    return by_name(KINDS["pgpool"].version_of(pgpool_pooler.server_version))


@pytest.fixture
def live(pgpool_pooler: Pooler) -> dict[str, str]:
    with sql.open(pgpool_pooler) as session:
        return sql.settings(session)


def test_every_setting_of_the_program_is_offered_or_has_a_reason(
    known: dict[str, Setting], live: dict[str, str]
) -> None:
    assert [name for name in live if name not in known and not reason_for(name)] == []
    assert [name for name in known if reason_for(name)] == []


def test_every_setting_offered_is_the_programs(known: dict[str, Setting], live: dict[str, str]) -> None:
    backends = {name for name in known if name.startswith(("backend_weight", "backend_flag"))}
    assert set(known) - set(live) - backends == {RULES}


def test_defaults_are_the_programs(known: dict[str, Setting], live: dict[str, str]) -> None:
    wanted = {name: rendered(known[name], known[name].default) for name in live if name in known and name not in GIVEN}
    assert verify.differences(live, wanted, known) == {}


def test_what_waits_for_a_restart_is_what_the_catalog_says(
    known: dict[str, Setting], live: dict[str, str], own_pgpool: PgpoolServer, pgpool_pooler: Pooler
) -> None:
    wanted = {name: another(known[name], live[name]) for name in known if name in live}
    conf = own_pgpool.config_dir / "pgpool.conf"
    account.write_private(own_pgpool.config_dir / "pcp.conf", pcp_line(own_pgpool))
    account.write_private(conf, conf.read_text() + render.settings(wanted))
    pcp.reload_config(pgpool_pooler)

    def waiting() -> set[str]:
        with sql.open(pgpool_pooler) as session:
            return set(verify.differences(sql.settings(session), wanted, known))

    at_start = {name for name in wanted if known[name].restart}
    until(lambda: waiting() <= at_start)
    # the mode of processes is shown as written at once, and read at the start
    assert at_start - waiting() <= {"process_management_mode"}


def pcp_line(server: PgpoolServer) -> str:
    return f"{server.backend.superuser}:{pcp.stored(server.backend.password)}\n"


def another(setting: Setting, live: str) -> str:
    """A value that the setting does not have now."""
    if setting.name in OTHERWISE:
        return OTHERWISE[setting.name]
    if setting.type == Type.BOOLEAN:
        return "off" if live == "on" else "on"
    if setting.type == Type.NUMBER:
        return str(int((setting.minimum or 0) + 3600 * 7))
    if setting.type == Type.CHOICE:
        return next(choice for choice in setting.choices if choice != live)
    return "x:1" if setting.type == Type.TEXT else "/x/y.pem"
