"""Registering, changing, removing and checking poolers, none of which are there; with real ones: tests/live."""

from pathlib import Path

import pytest

from core.lib.private_text import for_admins
from pools.errors import IllegalTransition, PoolerUnreachable, Stale
from pools.hosts.base import HostRefused
from pools.inventory import poolers
from pools.models import Pooler, PoolerState, PoolState
from pools.poolers import KINDS
from pools.poolers.pgpool.driver import Pgpool
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db

VALUES = {
    "name": "edge",
    "kind": "pgbouncer",
    "host": "127.0.0.1",
    "port": 1,
    "admin_user": "pooldeck",
    "admin_password": "console-password",
    "config_dir": "/etc/pgbouncer/",
}


@pytest.fixture
def pooler() -> Pooler:
    """A registered pooler that can't be reached."""
    return poolers.register(VALUES)[0]


def test_an_unreachable_pooler_is_saved_and_the_reason_told() -> None:
    pooler, reason = poolers.register(VALUES)
    assert for_admins(reason).startswith("pooler edge can't be reached: ")
    assert "Connection refused" in reason
    saved = Pooler.objects.get()
    assert (saved.state, saved.error, saved.config_dir) == (PoolerState.UNREACHABLE, reason, "/etc/pgbouncer")
    assert (saved.admin_password, saved.sealed_admin_password.count("console-password")) == ("console-password", 0)
    assert pooler == saved


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "", "a name is needed"),
        ("name", "taken", "the name 'taken' is taken: choose another name"),
        ("kind", "odyssey", "'odyssey' is not one of pgbouncer, pgpool, haproxy"),
        ("host", "", "a host name, an address or a socket directory is needed"),
        ("port", 0, "0 is not a port: enter a number from 1 to 65535"),
        ("port", 65536, "65536 is not a port: enter a number from 1 to 65535"),
        ("admin_user", " ", "a name is needed"),
        ("admin_password", "", "the console's password is needed"),
        ("config_dir", "etc", "'etc' is not an absolute path: write it from / on, without .."),
        ("config_dir", "/etc/../root", "'/etc/../root' is not an absolute path: write it from / on, without .."),
        (
            "config_dir",
            "/var/taken/",
            "/var/taken is the folder of pooler taken: two would overwrite each other's pools",
        ),
    ],
)
def test_bad_values_are_named_by_field_and_nothing_is_saved(field: str, value: object, message: str) -> None:
    a_pooler(name="taken", config_dir="/var/taken")
    for same in ("//var/taken", "/var//taken/", "/var/./taken"):
        with pytest.raises(poolers.InvalidPooler, match="is the folder of pooler taken"):
            poolers.register(VALUES | {"config_dir": same})
    with pytest.raises(poolers.InvalidPooler) as refused:
        poolers.register(VALUES | {field: value})
    assert refused.value.errors == {field: [message]}
    assert Pooler.objects.count() == 1


def test_a_pgpool_needs_no_folder() -> None:
    assert poolers.register(VALUES | {"kind": "pgpool", "config_dir": ""})[0].pk


def test_a_change_keeps_what_is_not_given(pooler: Pooler) -> None:
    poolers.change(pooler, {"name": "front"}, pooler.version)
    saved = Pooler.objects.get()
    assert (saved.name, saved.host, saved.admin_password) == ("front", "127.0.0.1", "console-password")


def test_a_new_address_asks_for_the_password_again(pooler: Pooler) -> None:
    with pytest.raises(poolers.InvalidPooler) as refused:
        poolers.change(pooler, {"port": 2})
    assert refused.value.errors == {"admin_password": ["the address or the login changed: enter the password again"]}
    poolers.change(pooler, {"port": 2, "admin_password": "another"})
    assert Pooler.objects.get().admin_password == "another"


def test_behind_a_new_address_pools_have_to_be_proved_again(pooler: Pooler) -> None:
    pool = a_pool(pooler=pooler, state=PoolState.APPLIED)
    poolers.change(pooler, {"name": "front"})
    pool.refresh_from_db()
    assert pool.state == PoolState.APPLIED
    poolers.change(pooler, {"config_dir": "/srv/pgbouncer"})
    pool.refresh_from_db()
    assert pool.state == PoolState.PENDING


def test_a_stale_change_is_refused(pooler: Pooler) -> None:
    poolers.change(pooler, {"name": "front"}, 1)
    with pytest.raises(Stale):
        poolers.change(pooler, {"name": "other"}, 1)
    assert Pooler.objects.get().name == "front"


def test_a_pooler_with_pools_stays(pooler: Pooler) -> None:
    pool = a_pool(pooler=pooler)
    with pytest.raises(IllegalTransition, match="pooler edge still has 1 pool: delete it first"):
        poolers.remove(pooler)
    pool.delete()
    poolers.remove(pooler)
    assert not Pooler.objects.exists()


def test_figures_of_an_unreachable_pooler_say_so(pooler: Pooler) -> None:
    with pytest.raises(PoolerUnreachable, match="pooler edge can't be reached"):
        poolers.pool_figures(pooler)


@pytest.mark.django_db(transaction=True)
def test_all_are_checked_and_one_removed_meanwhile_harms_nobody(tmp_path: Path) -> None:
    gone, first, second = a_pooler(), a_pooler(), a_pooler()
    Pooler.objects.filter(pk=gone.pk).delete()
    poolers.check_all([gone, first, second])
    assert set(Pooler.objects.values_list("pk", "state")) == {
        (first.pk, PoolerState.UNREACHABLE),
        (second.pk, PoolerState.UNREACHABLE),
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("step", "state"), [("check", PoolerState.UNREACHABLE), ("processes", PoolerState.ONLINE)])
def test_what_the_host_of_one_refuses_is_its_reason_and_the_others_are_checked(
    monkeypatch: pytest.MonkeyPatch, step: str, state: PoolerState
) -> None:
    def refuse(*_: object) -> None:
        raise HostRefused("sh did not end on host db-1 within 30 s, and was ended")

    monkeypatch.setattr(Pgpool, "check", lambda *_: "4.3.5")
    monkeypatch.setattr(Pgpool, "facts", lambda *_: {})
    monkeypatch.setattr(Pgpool, step, refuse)
    known = [{"name": "pgpool", "state": "online"}]
    first, second = a_pooler(kind="pgpool", config_dir="", processes=known), a_pooler(port=1)
    poolers.check_all([first, second])
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, first.error) == (state, "sh did not end on host db-1 within 30 s, and was ended")
    assert (first.processes, second.state) == (known, PoolerState.UNREACHABLE)


def test_a_check_of_what_the_pooler_was_is_not_recorded(pooler: Pooler) -> None:
    stale = Pooler.objects.get()
    poolers.change(pooler, {"name": "front"})
    Pooler.objects.update(error="")
    poolers.check(stale)
    assert Pooler.objects.get().error == ""


def test_without_a_folder_a_pooler_is_watched() -> None:
    watched, reason = poolers.register(VALUES | {"config_dir": ""})
    assert (watched.management, "refused" in reason) == ("watched", True)
    assert list(Pooler.objects.watched()) == [watched]


def test_an_haproxy_without_a_folder_needs_its_stats_socket_or_page() -> None:
    values = VALUES | {"kind": "haproxy", "config_dir": ""}
    with pytest.raises(poolers.InvalidPooler) as refused:
        poolers.register(values)
    assert refused.value.errors == {
        "stats_address": ["give its stats socket or its stats page, or the folder of its haproxy.cfg"]
    }


@pytest.mark.parametrize(
    ("kind", "address", "message"),
    [
        ("pgbouncer", "/run/x.sock", "only an HAProxy has a stats socket or page: leave it empty"),
        ("haproxy", "nothing", "nothing is neither a path, nor host:port, nor the URL of a stats page"),
        ("haproxy", "lb1:x", "lb1:x is neither a path, nor host:port, nor the URL of a stats page"),
        (
            "haproxy",
            "http:///stats",
            "http:///stats is not the URL of a stats page: write it like http://lb1:8404/stats",
        ),
        ("haproxy", "http://169.254.169.254/", "169.254.169.254 is the address of a cloud's metadata service"),
        ("haproxy", "169.254.169.254:80", "169.254.169.254 is the address of a cloud's metadata service"),
    ],
)
def test_a_stats_address_that_is_none_or_forbidden_is_refused(kind: str, address: str, message: str) -> None:
    with pytest.raises(poolers.InvalidPooler) as refused:
        poolers.register(VALUES | {"kind": kind, "config_dir": "", "stats_address": address})
    ((field, (found,)),) = refused.value.errors.items()
    assert (field, found.startswith(message)) == ("stats_address", True)


def test_another_stats_page_needs_the_password_again() -> None:
    page = VALUES | {"kind": "haproxy", "config_dir": "", "stats_address": "http://127.0.0.1:1/stats"}
    watched, _ = poolers.register(page)
    with pytest.raises(poolers.InvalidPooler) as refused:
        poolers.change(watched, {"stats_address": "http://127.0.0.2:1/stats"})
    assert list(refused.value.errors) == ["admin_password"]


def test_a_pooler_with_pools_does_not_lose_its_folder() -> None:
    pooler = a_pool().pooler
    with pytest.raises(poolers.InvalidPooler) as refused:
        poolers.change(pooler, {"config_dir": ""})
    assert list(refused.value.errors) == ["config_dir"]


def test_the_usual_main_file_moves_with_the_folder() -> None:
    made, _ = poolers.register(VALUES | {"config_dir": "/etc/pb", "config_file": "/etc/pb/pgbouncer.ini"})
    assert (made.config_file, KINDS["pgbouncer"].main_path(made)) == ("", "/etc/pb/pgbouncer.ini")
    poolers.change(made, {"config_file": "/etc/pb/prod.ini"})
    assert KINDS["pgbouncer"].main_path(made) == "/etc/pb/prod.ini"


def test_one_that_was_taken_over_keeps_its_files_when_something_else_of_it_changes() -> None:
    paths = {"pgbouncer.ini": "/etc/pgbouncer/pgbouncer.ini"}
    taken = a_pooler(config_dir="/etc/pgbouncer", config_file=paths["pgbouncer.ini"], file_paths=paths, port=1)
    poolers.change(taken, {"name": "renamed"})
    taken.refresh_from_db()
    assert (taken.name, taken.config_file) == ("renamed", "/etc/pgbouncer/pgbouncer.ini")
