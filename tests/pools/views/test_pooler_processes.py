"""The page on which a PgBouncer gets several processes; with real ones: tests/live/."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import Client

from pools.inventory import poolers
from pools.models import Pooler, PoolState
from pools.poolers.pgbouncer import processes
from pools.poolers.pgbouncer.processes import Process
from tests.callers import person
from tests.pools.records import a_pool, a_pooler, checked

pytestmark = pytest.mark.django_db
CONFIG = {"unix_socket_dir": "/run/postgresql", "conffile": "/etc/pgbouncer/pgbouncer.ini", "listen_port": "6432"}


def running(monkeypatch: pytest.MonkeyPatch, *configs: dict[str, str]) -> None:
    """Let these processes answer."""

    @contextmanager
    def opened(_pooler: Pooler) -> Iterator[Sequence[Process]]:
        yield [Process(None, CONFIG | config) for config in configs]

    monkeypatch.setattr(processes, "opened", opened)


def page_of(staff: Client, pooler: Pooler, query: str = "") -> str:
    return staff.get(f"/poolers/{pooler.pk}/processes/{query}").content.decode()


def test_a_pooler_that_does_not_answer_is_named_with_the_reason(staff: Client) -> None:
    page = page_of(staff, a_pooler(port=1))
    assert "be looked at" in page
    assert "Connection refused" in page.partition("be looked at")[2]


def test_a_watched_one_has_to_be_taken_over_first(staff: Client) -> None:
    pooler = a_pooler(config_dir="", port=1)
    assert "is only watched" in page_of(staff, pooler)
    answer = staff.post(f"/poolers/{pooler.pk}/processes/", {"desired_processes": 3})
    assert "is only watched, so the panel writes none of its files: take it over first" in answer.content.decode()


def test_the_commands_where_no_systemd_runs_are_shown(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, {"so_reuseport": "1"})
    pooler = a_pooler(server_version="PgBouncer 1.24.1", config_dir="/etc/pgbouncer")
    shown = page_of(staff, pooler, "?count=2").partition("Where no systemd runs")[2]
    assert "run these as postgres" in " ".join(shown.split())
    assert "setsid -f /usr/sbin/pgbouncer /etc/pgbouncer/pgbouncer-2.ini" in shown
    assert "kill -s INT" not in shown  # the port is shared already


def test_only_a_pgbouncer_has_the_page(staff: Client) -> None:
    assert staff.get(f"/poolers/{a_pooler(kind='haproxy', port=1).pk}/processes/").status_code == 404


def test_only_staff_has_it(client: Client) -> None:
    client.force_login(person("reader", staff=False))
    url = f"/poolers/{a_pooler(port=1).pk}/processes/"
    assert (client.get(url).status_code, client.post(url, {"desired_processes": 3}).status_code) == (403, 403)


@pytest.mark.parametrize(
    ("folder", "its", "how"),
    [
        ("/run/postgresql", "/run/pgbouncer-2", "RuntimeDirectory=pgbouncer-%i"),
        ("/srv/sockets", "/srv/sockets/pgbouncer-2", "ExecStartPre=/bin/mkdir -p /srv/sockets/pgbouncer-%i"),
    ],
)
def test_a_further_process_has_a_folder_that_the_first_ones_unit_does_not_remove(
    staff: Client, monkeypatch: pytest.MonkeyPatch, folder: str, its: str, how: str
) -> None:
    running(monkeypatch, {"unix_socket_dir": folder})
    page = page_of(staff, a_pooler(server_version="PgBouncer 1.24.1"), "?count=2")
    for words in (f"unix_socket_dir = {its}", f"2 = host={its} port=6432", how, "pgbouncer@2", "User=postgres"):
        assert words in page


def test_another_port_has_units_and_folders_of_its_own(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, {"listen_port": "6433", "logfile": "/var/log/postgresql/pgbouncer.log"})
    page = page_of(staff, a_pooler(server_version="PgBouncer 1.24.1", port=6433), "?count=2")
    for words in ("/etc/systemd/system/pgbouncer-6433@.service", "/run/pgbouncer-6433-2", "pgbouncer-6433@2"):
        assert words in page
    assert "logfile = /var/log/postgresql/pgbouncer-2.log" in page


@pytest.mark.parametrize(
    ("release", "config", "command", "words"),
    [
        ("1.18.0", {}, "systemctl restart pgbouncer\n", "This disconnects clients."),
        ("1.24.1", {}, "systemctl kill --signal=TERM pgbouncer\n", "no session is lost"),
        ("1.18.0", {"so_reuseport": "1"}, "systemctl enable --now pgbouncer@2\n", "no client is disconnected"),
    ],
)
def test_it_says_what_the_first_start_means_for_clients(
    staff: Client,
    monkeypatch: pytest.MonkeyPatch,
    release: str,
    config: dict[str, str],
    command: str,
    words: str,
) -> None:
    running(monkeypatch, config)
    page = page_of(staff, a_pooler(server_version=f"PgBouncer {release}"), "?count=2")
    assert command in page
    assert words in page


def test_a_further_one_that_is_too_many_is_to_be_stopped(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    pooler = a_pooler(server_version="PgBouncer 1.24.1", desired_processes=1, applied_processes=[1, 2])
    running(monkeypatch, {"so_reuseport": "1"}, {"conffile": "/etc/pgbouncer/pgbouncer-2.ini", "so_reuseport": "1"})
    assert "systemctl kill --signal=TERM pgbouncer@2" in page_of(staff, pooler)


def test_the_number_is_pending_until_a_worker_has_applied_it(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, {})
    pooler = a_pooler(port=1)
    answer = staff.post(f"/poolers/{pooler.pk}/processes/", {"desired_processes": 3})
    assert (answer.status_code, answer["Location"]) == (302, f"/poolers/{pooler.pk}/processes/")
    pooler.refresh_from_db()
    assert (pooler.desired_processes, pooler.settings_state) == (3, PoolState.PENDING)


def test_the_same_number_queues_nothing_and_says_so(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, {})
    url = f"/poolers/{a_pooler(name='front', port=1, desired_processes=3).pk}/processes/"
    page = staff.post(url, {"desired_processes": 3}, follow=True).content.decode()
    assert "Nothing changed: front has that number already, and no file is written." in page
    assert "A worker writes" not in page


def test_a_field_that_the_page_does_not_have_is_told_with_what_is_wrong(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(monkeypatch, {})
    pooler, other = a_pooler(port=1), a_pooler(name="other")
    assert other.config_dir == pooler.config_dir
    page = staff.post(f"/poolers/{pooler.pk}/processes/", {"desired_processes": 3}).content.decode()
    assert "/nowhere is the folder of pooler other: two would overwrite each other" in page
    assert 'value="3"' in page


def test_an_edit_of_another_user_meanwhile_is_kept_and_told(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, {})
    pooler = a_pooler(port=1)
    change = poolers.change

    def edited_first(*args: Any, **named: Any) -> Any:
        Pooler.objects.get(pk=pooler.pk).edit(None, client_host="db.example.com")
        return change(*args, **named)

    monkeypatch.setattr(poolers, "change", edited_first)
    answer = staff.post(f"/poolers/{pooler.pk}/processes/", {"desired_processes": 3})
    assert answer.status_code == 409
    assert "Another user saved this while you were editing" in answer.content.decode()
    assert 'value="3"' in answer.content.decode()
    pooler.refresh_from_db()
    assert (pooler.client_host, pooler.desired_processes) == ("db.example.com", 1)


def test_more_than_the_budget_has_is_refused_with_the_figures(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, {})
    pool = a_pool(size=40, pooler=a_pooler(port=1))
    checked(pool.cluster)
    page = staff.post(f"/poolers/{pool.pooler.pk}/processes/", {"desired_processes": 3}).content.decode()
    assert "its pools could open 80 more connections in 3 processes" in page
    assert 'value="3"' in page
    pool.pooler.refresh_from_db()
    assert pool.pooler.desired_processes == 1
