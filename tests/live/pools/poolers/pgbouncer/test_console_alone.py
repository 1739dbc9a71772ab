"""What the console alone tells of a PgBouncer's entries: what names resolve to, and that there is an entry `*`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.test import Client

from core.lib import addresses
from core.lib.polling import poll
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools.inventory import poolers
from pools.models import Cluster, Entry, Pooler
from tests.callers import bearer, person
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE
from tests.pages import page_of

pytestmark = pytest.mark.django_db(transaction=True)
WITHIN_S = 30.0


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A name that leads to this machine by its own list of hosts, which the panel does not see here."""
    words = (line.partition("#")[0].split() for line in addresses.HOSTS.read_text().splitlines())
    pairs = [(one[0], named) for one in words for named in one[1:]]
    found = [named for address, named in pairs if address == "127.0.0.1" and addresses.is_name(named)]
    if not found:
        pytest.skip("the list of hosts has no name for 127.0.0.1 but localhost")
    monkeypatch.setattr(addresses, "HOSTS", tmp_path / "nothing")
    return found[0]


@pytest.fixture(params=["installed", "trixie_pgbouncer", "sid_pgbouncer"])
def operated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer, name: str
) -> Iterator[PgBouncerServer]:
    """An operator's PgBouncer with an entry whose host is a name, and one for any other database."""
    program = None if request.param == "installed" else str(request.getfixturevalue(request.param))
    home = tmp_path_factory.mktemp("alone")
    made = PgBouncerServer(home, free_port(), "pooldeck", "console-password", program)
    made.own_settings = {"server_idle_timeout": 1, "autodb_idle_timeout": 6, "stats_period": 5}
    account.make_folder(home)
    with made:
        ini, users = made.config_dir / "pgbouncer.ini", made.config_dir / "userlist.txt"
        lines = (
            f"named = host={name} port={postgres.port} dbname={APP_DATABASE}\n* = host=127.0.0.1 port={postgres.port}\n"
        )
        account.write_private(ini, ini.read_text().replace("[databases]\n", f"[databases]\n{lines}", 1))
        account.write_private(users, f'{users.read_text()}"{APP_ROLE}" "{APP_PASSWORD}"\n')
        with made.connect() as console:
            console.execute(b"RELOAD")
        yield made


@pytest.fixture
def pooler(db: None, operated: PgBouncerServer) -> Pooler:
    login = {"admin_user": operated.admin_user, "admin_password": operated.admin_password}
    address = {"name": "edge", "kind": "pgbouncer", "host": operated.host, "port": operated.port}
    made, reason = poolers.register(address | login)
    assert reason == ""
    return made


@contextmanager
def connected(operated: PgBouncerServer, database: str) -> Iterator[None]:
    """A client of the database that has sent a query, while the block runs."""
    address = {"host": operated.host, "port": operated.port, "dbname": database}
    with psycopg.connect(**address, user=APP_ROLE, password=APP_PASSWORD, autocommit=True) as client:
        client.execute(b"SELECT 1")
        yield


def use(operated: PgBouncerServer, database: str) -> None:
    with connected(operated, database):
        pass


def listed(pooler: Pooler) -> dict[str, bool]:
    assert poolers.check(pooler) == ""
    return dict(pooler.entries.values_list("name", "automatic"))


def test_a_name_is_matched_once_pgbouncer_has_resolved_it(
    operated: PgBouncerServer, pooler: Pooler, cluster: Cluster, name: str
) -> None:
    entry = Entry.objects.get(name="named")
    assert (entry.host, entry.addresses, entry.cluster, entry.unresolved) == (name, {}, None, [name])
    use(operated, "named")
    poolers.check(pooler)
    entry.refresh_from_db()
    assert (entry.addresses, entry.cluster, entry.unresolved) == ({name: ["127.0.0.1"]}, cluster, [])
    shown = bearer().get(f"/api/v1/entries/{entry.pk}/").json()
    assert (shown["addresses"], shown["cluster"]) == ({name: ["127.0.0.1"]}, str(cluster.pk))


def test_the_fallback_is_proved_by_what_it_made_once_nobody_uses_it(
    operated: PgBouncerServer, pooler: Pooler, cluster: Cluster
) -> None:
    use(operated, "named")
    assert listed(pooler) == {"named": False}
    with connected(operated, "postgres"):  # in use: however busy the machine is, it is listed
        assert listed(pooler) == {"named": False, "postgres": False}  # nothing tells it from an entry of the files yet
    # one check may see it in use in SHOW DATABASES and unused in what the console counts a moment later
    shown = poll(lambda: ((found := listed(pooler)).get("postgres", False), found), WITHIN_S)
    assert shown == {"*": False, "named": False, "postgres": True}
    browser = Client()
    browser.force_login(person())
    fallback = page_of(browser.get(f"/entries/{pooler.entries.get(name='*').pk}/"))
    assert "any other database" in fallback
    assert "The console lists no entry <code>*</code>" in fallback
    assert f"/entries/{pooler.entries.get(name='postgres').pk}/" in fallback
    forgotten = poll(lambda: ("postgres" not in (found := listed(pooler)), found), WITHIN_S)
    assert forgotten == {"*": False, "named": False}  # what it made is gone, and nothing says that it is
    assert "Last proved" in page_of(browser.get(f"/entries/{pooler.entries.get(name='*').pk}/"))
