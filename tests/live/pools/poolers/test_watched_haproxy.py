"""An HAProxy that somebody else configures, watched by its stats socket or its stats page alone."""

from collections.abc import Iterator

import psycopg
import pytest

from panel.quickstart import account
from panel.quickstart.servers import PostgresServer, free_port
from pools.errors import PoolerUnreachable
from pools.inventory import poolers
from pools.models import Entry, PoolerState
from pools.poolers import KINDS
from tests.live.haproxies import HAProxyServer

pytestmark = pytest.mark.django_db(transaction=True)


class OperatorsHAProxy(HAProxyServer):
    """An HAProxy with a TCP proxy to a PostgreSQL, a stats page with a password, and a stats socket on TCP too."""

    def __init__(self, *args: object, server: int, page: int, stats: int) -> None:
        super().__init__(*args)
        self.server, self.page, self.stats = server, page, stats

    def prepare(self) -> None:
        """Write its whole file, which the panel never does."""
        super().prepare()
        more = (
            f"    stats socket ipv4@127.0.0.1:{self.stats} level admin\n"
            "defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 60s\n    timeout server 60s\n"
            f"listen shop\n    bind 127.0.0.1:{self.port}\n    maxconn 50\n"
            f"    server db1 127.0.0.1:{self.server} check\n"
            f"frontend page\n    mode http\n    bind 127.0.0.1:{self.page}\n    stats enable\n    stats uri /stats\n"
            "    stats auth me:secret\n"
        )
        path = self.config_dir / "haproxy.cfg"
        account.write_private(path, path.read_text() + more)


@pytest.fixture
def operated(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[OperatorsHAProxy]:
    """One that runs."""
    ports = {"server": postgres.port, "page": free_port(), "stats": free_port()}
    with OperatorsHAProxy(tmp_path_factory.mktemp("haproxy"), free_port(), **ports) as server:
        yield server


def address_of(operated: OperatorsHAProxy, by: str) -> str:
    by_page = f"http://127.0.0.1:{operated.page}/stats"
    return {"socket": str(operated.stats_socket), "tcp": f"127.0.0.1:{operated.stats}", "page": by_page}[by]


@pytest.mark.parametrize("by", ["socket", "tcp", "page"])
def test_its_proxies_stand_for_entries_with_their_figures(operated: OperatorsHAProxy, by: str) -> None:
    before = (operated.config_dir / "haproxy.cfg").read_bytes()
    values = {"name": "lb", "kind": "haproxy", "host": "127.0.0.1", "port": operated.port, "admin_user": "me"}
    address = {"stats_address": address_of(operated, by), "admin_password": "secret" if by == "page" else ""}
    watched, reason = poolers.register(values | address)
    assert (reason, watched.state, watched.management) == ("", PoolerState.ONLINE, "watched")
    assert watched.server_version.startswith("HAProxy 2.")
    assert list(Entry.objects.values_list("name", "database", "size", "mode")) == [("shop", "", 50, "session")]
    login = {"host": "127.0.0.1", "port": operated.port, "dbname": "app", "user": "app", "password": "app-password"}
    with psycopg.connect(**login):
        assert KINDS["haproxy"].sample(watched).figures["shop"].cl_active == 1
    assert KINDS["haproxy"].words_of(watched)[0] == "stat"
    assert (operated.config_dir / "haproxy.cfg").read_bytes() == before


def test_a_wrong_password_of_the_page_is_named(operated: OperatorsHAProxy) -> None:
    values = {"name": "lb", "kind": "haproxy", "host": "127.0.0.1", "port": operated.port, "admin_user": "me"}
    page = {"stats_address": address_of(operated, "page"), "admin_password": "wrong"}
    watched, reason = poolers.register(values | page)
    assert reason == "the stats page of pooler lb can't be read: it asks for another user or password (stats auth)"
    with pytest.raises(PoolerUnreachable):
        KINDS["haproxy"].sample(watched)
