"""What an unknown server says reaches those who may save its login, and no other reader of the panel."""

import socketserver
import struct
import threading
from collections.abc import Iterator

import pytest
from django.test import Client

from pools.clusters import health_check
from tests.callers import bearer, person
from tests.pages import page_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
SAID = "REDIS-LIKE SECRET BANNER 42"


class Talker(socketserver.BaseRequestHandler):
    """Answers each startup packet with an error of its own words, as PostgreSQL's protocol 3.0 frames it."""

    def handle(self) -> None:
        self.request.recv(8192)
        fields = b"SFATAL\0VFATAL\0C99999\0M" + SAID.encode() + b"\0\0"
        self.request.sendall(b"E" + struct.pack("!i", len(fields) + 4) + fields)


@pytest.fixture
def port() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talker) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_check_keeps_them_from_readers(port: int) -> None:
    cluster = a_cluster(host="127.0.0.1", port=port, sslmode="disable")
    assert SAID in health_check.check_cluster(cluster).error
    reader = Client()
    reader.force_login(person(staff=False))
    assert SAID not in page_of(reader.get(f"/clusters/{cluster.pk}/"))
    assert SAID not in page_of(bearer("read").get(f"/api/v1/clusters/{cluster.pk}/"))


def test_who_may_run_is_not_told_and_an_admin_is(port: int) -> None:
    cluster = a_cluster(host="127.0.0.1", port=port, sslmode="disable")
    url = f"/api/v1/clusters/{cluster.pk}/databases/"
    for scopes, described in ((("read",), False), (("admin",), True)):
        answer = bearer(*scopes).get(url)
        assert answer.status_code == 502, answer.json()
        assert (SAID in answer.json()["detail"]) is described


def test_the_form_of_the_cluster_tells_an_admin(port: int) -> None:
    admin = Client()
    admin.force_login(person())
    typed = {"name": "odd", "host": "127.0.0.1", "port": port, "admin_user": "u", "sslmode": "disable"}
    typed |= {"admin_password": "hunter22", "maintenance_database": "postgres", "set_aside_connections": 0}
    page = page_of(admin.post("/clusters/new/", typed))
    assert SAID in page
