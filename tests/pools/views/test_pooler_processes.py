"""The page that offers several processes on a pooler's port; from its files: tests/live/."""

from contextlib import contextmanager

import pytest
from django.test import Client

from pools.config_files import pooler_files
from pools.poolers.pgbouncer import processes
from pools.poolers.pgbouncer.processes import Process
from tests.callers import person
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db


def test_a_pooler_that_does_not_answer_is_named_with_the_reason(staff: Client) -> None:
    answer = staff.get(f"/poolers/{a_pooler(port=1).pk}/processes/")
    page = answer.content.decode()
    assert "be written out here" in page
    assert "Connection refused" in page.partition("be written out here")[2]


def test_a_watched_one_has_to_be_taken_over_first(staff: Client) -> None:
    page = staff.get(f"/poolers/{a_pooler(config_dir='', port=1).pk}/processes/").content.decode()
    assert "is only watched" in page


def test_only_a_pgbouncer_has_the_page(staff: Client) -> None:
    assert staff.get(f"/poolers/{a_pooler(kind='haproxy', port=1).pk}/processes/").status_code == 404


def test_only_staff_gets_the_files(client: Client) -> None:
    client.force_login(person("reader", staff=False))
    assert client.get(f"/poolers/{a_pooler(port=1).pk}/processes/?as=tar").status_code == 403


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
    config = {"unix_socket_dir": folder, "conffile": "/etc/pgbouncer/pgbouncer.ini"}
    main = "[databases]\nshop = password=secret-word\n[pgbouncer]\nlisten_port = 6432\n"
    monkeypatch.setattr(processes, "opened", contextmanager(lambda _pooler: iter([[Process(None, config)]])))
    monkeypatch.setattr(pooler_files, "text_at", lambda _pooler, _path: main)
    url = f"/poolers/{a_pooler(server_version='PgBouncer 1.24.1').pk}/processes/?count=2"
    page = staff.get(url).content.decode()
    for words in (f"unix_socket_dir = {its}", f"2 = host={its} port=6432", how, "pgbouncer@2.service", "User=postgres"):
        assert words in page
    assert "secret-word" not in page
    assert b"secret-word" in staff.get(f"{url}&as=tar").content
