"""A PgBouncer that is known by its console alone: what it shows of its entries, and that nothing of it is changed."""

import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from django.test import Client

from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint
from benchmarks.targets import entries as targets
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools.console import commands
from pools.errors import ConsoleRefused, IllegalTransition
from pools.inventory import budget, poolers, pools
from pools.inventory.pools import InvalidPool
from pools.models import Cluster, Entry, Pool, Pooler, PoolerState
from pools.monitoring.prometheus import answer_of, exposition
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS
from tests.callers import bearer, person
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE
from tests.postgresqls import verifier

pytestmark = pytest.mark.django_db(transaction=True)
WATCHER, PASSWORD = "watcher", "watching-password"
Register = Callable[..., Pooler]


@pytest.fixture
def operated(pgbouncer: PgBouncerServer, postgres: PostgresServer) -> PgBouncerServer:
    """An operator's PgBouncer with four entries, one of them in an included file, and a user that may only read."""
    folder = pgbouncer.config_dir
    server = f"host=127.0.0.1 port={postgres.port} dbname={APP_DATABASE}"
    main = (folder / "pgbouncer.ini").read_text()
    entries = f"open = {server}\nelsewhere = host=db.example.org port=5432 dbname=shop\n%include {folder}/more.ini\n"
    more = (
        f"fixed = {server} user={APP_ROLE} password={APP_PASSWORD} pool_size=7 reserve_pool=2 pool_mode=session\n"
        f"capped = {server} max_db_connections=5\n"
    )
    account.write_private(folder / "more.ini", more)
    main = main.replace("[databases]\n", f"[databases]\n{entries}", 1) + f"stats_users = {WATCHER}\n"
    account.write_private(folder / "pgbouncer.ini", main)
    users = (folder / "userlist.txt").read_text()
    lines = f'"{WATCHER}" "{verifier(PASSWORD)}"\n"{APP_ROLE}" "{APP_PASSWORD}"\n'
    account.write_private(folder / "userlist.txt", users + lines)
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    return pgbouncer


@pytest.fixture
def register(operated: PgBouncerServer) -> Register:
    """Registers it by its address and a console login alone."""

    def make(user: str = WATCHER, password: str = PASSWORD, **fields: object) -> Pooler:
        address = {"name": "edge", "kind": "pgbouncer", "host": operated.host, "port": operated.port}
        made, reason = poolers.register({**address, "admin_user": user, "admin_password": password, **fields})
        assert (reason, made.state, made.management) == ("", PoolerState.ONLINE, "watched")
        return made

    return make


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of change of each file that could be written."""
    return {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.glob("*.[it][nx][it]")}


def test_a_reader_of_the_console_sees_every_entry_and_changes_no_byte(
    register: Register, operated: PgBouncerServer, cluster: Cluster
) -> None:
    before = contents(operated.config_dir)
    edge = register()
    found = edge.entries.values_list("name", "host", "database", "user", "mode", "size", "reserve", "max_connections")
    usual = KINDS[edge.kind].show(edge, "config")
    default = int(next(str(row["value"]) for row in usual if row["key"] == "default_pool_size"))
    mode = next(str(row["value"]) for row in usual if row["key"] == "pool_mode")
    assert list(found) == [
        ("capped", "127.0.0.1", "app", "", mode, default, 0, 5),
        ("elsewhere", "db.example.org", "shop", "", mode, default, 0, 0),
        ("fixed", "127.0.0.1", "app", "app", "session", 7, 2, 0),
        ("open", "127.0.0.1", "app", "", mode, default, 0, 0),
    ]
    clusters = {entry.name: entry.cluster for entry in edge.entries.all()}
    assert clusters == {"capped": cluster, "elsewhere": None, "fixed": cluster, "open": cluster}
    poolers.check(edge)
    assert contents(operated.config_dir) == before


def test_its_entries_take_connections_of_the_budget(register: Register, cluster: Cluster) -> None:
    register()
    found = budget.of_cluster(cluster)
    assert (found.allocated, found.unmanaged.connections, found.unmanaged.unlimited) == (0, 9 + 5, 1)


def test_verbs_that_its_login_may_not_use_are_refused_with_the_reason(register: Register) -> None:
    reader = register()
    assert "watcher is none of the admin_users of pooler edge" in reader.commands_refused
    with pytest.raises(ConsoleRefused, match="PAUSE, RESUME, KILL"):
        commands.controls_of(reader)
    admin = register("pooldeck", "console-password", name="other")
    assert admin.commands_refused == ""
    with commands.controls_of(admin) as controls:
        assert not controls.condition("open").paused


def test_an_admin_pauses_kills_and_disables_through_an_entry_and_a_reader_is_told(
    register: Register, operated: PgBouncerServer, cluster: Cluster
) -> None:
    api, before = bearer(), contents(operated.config_dir)
    entry = register("pooldeck", "console-password").entries.get(name="open")
    url = f"/api/v1/entries/{entry.pk}"
    login = {"host": operated.host, "port": operated.port, "dbname": "open", "user": APP_ROLE, "password": APP_PASSWORD}
    with psycopg.connect(**login, autocommit=True) as client:
        client.execute("BEGIN")
        blocked = api.post(f"{url}/pause/", {"deadline_s": 1})
        assert (blocked.status_code, len(blocked.json()["blockers"])) == (409, 1)
        client.execute("COMMIT")
        assert api.post(f"{url}/pause/").json()["paused"]
        assert api.get(f"{url}/").json()["paused_until"]
        resumed = api.post(f"{url}/resume/").json()
        assert (resumed["paused"], client.execute("SELECT 1").fetchone()) == (False, (1,))
        assert api.post(f"{url}/reconnect/").status_code == 200
        assert api.post(f"{url}/disable/").json()["disabled"]
        with pytest.raises(psycopg.OperationalError, match="is disabled"):
            psycopg.connect(**login)
        assert not api.post(f"{url}/enable/").json()["disabled"]
        assert api.post(f"{url}/kill/", {"confirm": "other"}).status_code == 400
        assert api.post(f"{url}/kill/", {"confirm": "open"}).json()["paused"] is False
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    psycopg.connect(**login).close()
    assert contents(operated.config_dir) == before

    reader = register(name="reader").entries.get(name="open")
    for verb in ("pause", "resume", "kill", "reconnect", "disable", "enable"):
        body = {"confirm": "open"} if verb == "kill" else {}
        refused = api.post(f"/api/v1/entries/{reader.pk}/{verb}/", body)
        assert (refused.status_code, verb.upper() in refused.json()["detail"]) == (409, True)


@pytest.mark.parametrize("verb", ["apply", "rollback", "restrict-pools"])
def test_what_would_write_its_files_says_to_take_it_over_first(register: Register, verb: str) -> None:
    edge = register()
    answer = bearer().post(f"/api/v1/poolers/{edge.pk}/{verb}/", {"revision": 1} if verb == "rollback" else {})
    assert answer.status_code in (404, 409)
    if answer.status_code == 409:
        assert "take it over first" in answer.json()["detail"]


def test_what_reads_works_at_once(register: Register, cluster: Cluster) -> None:
    edge = register(client_host="pool.example.org", client_port=5433)
    client, pk = bearer(), edge.entries.get(name="fixed").pk
    assert client.get(f"/api/v1/poolers/{edge.pk}/show/users/").status_code == 200
    listed = client.get(f"/api/v1/poolers/{edge.pk}/entries/").json()["results"]
    assert [one["name"] for one in listed] == ["capped", "elsewhere", "fixed", "open"]
    text = client.get(f"/api/v1/entries/{pk}/connection/").json()["text"]
    assert text == "postgresql://app@pool.example.org:5433/fixed"
    assert client.get(f"/api/v1/entries/{pk}/clients/").json()["general"]
    assert "limits" in client.get(f"/api/v1/entries/{pk}/mode-check/?as=transaction").json()
    elsewhere = edge.entries.get(name="elsewhere").pk
    answer = client.get(f"/api/v1/entries/{elsewhere}/mode-check/")
    assert (answer.status_code, "db.example.org:5432 is not registered" in answer.json()["detail"]) == (409, True)


def test_a_load_goes_through_an_entry_with_a_login_that_somebody_gives(register: Register, cluster: Cluster) -> None:
    entry = register().entries.get(name="open")
    with pytest.raises(InvalidTarget) as refused:
        targets.endpoint_of(entry, APP_ROLE, "wrong")
    assert list(refused.value.errors) == ["user"]
    made = targets.endpoint_of(entry, APP_ROLE, APP_PASSWORD)
    assert (made.name, made.pooled_by, made.cluster, made.database) == ("edge/open", "PgBouncer", cluster, "open")
    assert made.console is not None
    assert "open" in KINDS["pgbouncer"].sample(made.console).figures
    assert targets.endpoint_of(entry, APP_ROLE, APP_PASSWORD).pk == made.pk


def test_a_poll_has_what_the_whole_pooler_holds_and_its_limits(register: Register) -> None:
    pooler = register()
    shown = {row["key"]: row["value"] for row in KINDS["pgbouncer"].show(pooler, "config")}
    sample = KINDS["pgbouncer"].sample(pooler)
    assert (sample.clients >= 1, sample.most_clients) == (True, int(str(shown["max_client_conn"])))
    rows = sample.rows
    assert rows["limits"] == [{name: shown[name] for name in ("max_client_conn", "max_user_connections")}]
    assert rows["counts"][0]["databases"] == len(KINDS["pgbouncer"].show(pooler, "databases"))
    answer = answer_of(pooler, ConsoleSnapshot(at=time.time(), rows=rows))
    text = b"".join(exposition([(pooler, answer)], time.time())).decode()
    assert f'pgbouncer_config_max_client_connections{{pooler="{pooler.name}"}} {shown["max_client_conn"]}.0' in text
    assert f'pgbouncer_used_clients{{pooler="{pooler.name}"}} ' in text


def test_a_list_is_watched_and_bad_lines_stay_with_their_reason(operated: PgBouncerServer, cluster: Cluster) -> None:
    address = f"{operated.host}:{operated.port}"
    lines = f"# tier 1\n{address}\n\n127.0.0.1:1\npostgresql://x:geheim@{address}/pgbouncer\n"
    body = {"lines": lines, "admin_user": WATCHER, "admin_password": PASSWORD}
    answer = bearer().post("/api/v1/poolers/watch/", body)
    found = [(one["line"], one["state"], one["entries"], one["unregistered"]) for one in answer.json()["results"]]
    assert found == [(2, "watched", 4, 1), (4, "failed", 0, 0), (5, "failed", 0, 0)]
    assert "geheim" not in answer.content.decode()
    assert Pooler.objects.get().name == operated.host
    again = bearer().post("/api/v1/poolers/watch/", body | {"lines": address})
    assert [one["state"] for one in again.json()["results"]] == ["known"]


def test_the_name_of_an_operators_entry_is_refused_before_anything_is_saved(
    operated: PgBouncerServer, pooler: Pooler, cluster: Cluster
) -> None:
    poolers.check(pooler)
    values = {"pooler": pooler, "cluster": cluster, "database": "app", "user": "app", "mode": "session", "size": 1}
    with pytest.raises(InvalidPool) as refused:
        pools.create({**values, "name": "fixed"})
    assert refused.value.errors == {"name": ["more.ini already has an entry fixed: give the pool another name"]}
    assert not Pool.objects.exists()


def test_an_automatic_database_may_become_a_pool(
    pgbouncer: PgBouncerServer, postgres: PostgresServer, pooler: Pooler, cluster: Cluster
) -> None:
    main = pgbouncer.config_dir / "pgbouncer.ini"
    any_other = f"[databases]\n* = host=127.0.0.1 port={postgres.port}\n"
    account.write_private(main, main.read_text().replace("[databases]\n", any_other, 1))
    users = pgbouncer.config_dir / "userlist.txt"
    account.write_private(users, users.read_text() + f'"{APP_ROLE}" "{APP_PASSWORD}"\n')
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    login = {"host": pgbouncer.host, "port": pgbouncer.port, "dbname": "app", "user": APP_ROLE}
    psycopg.connect(**login, password=APP_PASSWORD).close()
    poolers.check(pooler)
    found = Entry.objects.values_list("name", "pool", "automatic", "cluster", "port")
    assert list(found) == [
        ("*", None, False, cluster.pk, postgres.port),
        ("app", None, True, cluster.pk, postgres.port),
    ]
    browser = Client()
    browser.force_login(person())
    page = browser.get(f"/poolers/{pooler.pk}/").content.decode()
    assert "any other database" in page
    assert "made by “any other database”" in page
    fallback = Entry.objects.get(name="*")
    assert "/app" in bearer().get(f"/api/v1/entries/{Entry.objects.get(name='app').pk}/connection/").json()["text"]
    assert "/YOUR_DATABASE" in bearer().get(f"/api/v1/entries/{fallback.pk}/connection/").json()["text"]
    shown = browser.get(f"/entries/{fallback.pk}/").content.decode()
    assert f"/entries/{Entry.objects.get(name='app').pk}/" in shown
    refused = bearer().post(f"/api/v1/entries/{fallback.pk}/pause/")
    assert refused.status_code in (404, 409)
    values = {"pooler": pooler, "cluster": cluster, "database": "app", "user": "app", "mode": "session", "size": 1}
    assert pools.create({**values, "name": "app"}).name == "app"


def test_localhost_leads_to_the_cluster_whose_system_identifier_the_server_there_has(
    operated: PgBouncerServer, postgres: PostgresServer, register: Register, cluster: Cluster
) -> None:
    main = operated.config_dir / "pgbouncer.ini"
    by_name = f"[databases]\nlocal = host=localhost port={postgres.port}\n"
    account.write_private(main, main.read_text().replace("[databases]\n", by_name, 1))
    with operated.connect() as console:
        console.execute(b"RELOAD")
    bearer().post(f"/api/v1/clusters/{cluster.pk}/check/")
    assert register().entries.get(name="local").cluster == cluster


def test_a_watched_pooler_is_never_applied(register: Register) -> None:
    edge = register()
    with pytest.raises(IllegalTransition, match="take it over first"):
        edge.require_managed()


def test_what_a_login_costs_is_measured_by_a_login_that_is_given_and_forgotten(
    register: Register, cluster: Cluster
) -> None:
    pooler, browser = register(), Client()
    browser.force_login(person())
    entry = pooler.entries.get(name="fixed")
    page = f"/entries/{entry.pk}/logins/"
    login = {"user": APP_ROLE, "password": APP_PASSWORD}
    assert "keeps nothing of the login" in browser.get(page).content.decode()
    wrong = browser.post(page, login | {"password": "wrong"})
    assert (wrong.status_code, "logins" in wrong.context) == (422, False)
    measured = browser.post(page, login)
    through, direct = measured.context["logins"]
    assert (through.route, direct.route, measured.context["note"]) == ("through the entry", "directly", "")
    assert 0 < through.client_cpu_ms <= through.total_ms
    assert direct.total_ms > 0
    assert measured.context["remedies"]
    assert APP_PASSWORD not in measured.content.decode()
    address = f"/api/v1{page}"
    refused = bearer("apply").post(address, login | {"password": "wrong"}, format="json")
    assert (refused.status_code, "the password of user 'app' was refused" in refused.json()["detail"]) == (502, True)
    answer = bearer("apply").post(address, login, format="json")
    assert (answer.status_code, [one["way"] for one in answer.json()["logins"]]) == (200, [through.route, direct.route])
    assert (answer.json()["note"], answer.json()["remedies"]) == ("", measured.context["remedies"])
    assert APP_PASSWORD not in answer.content.decode()
    assert not ExternalEndpoint.objects.exists()
    Cluster.objects.all().delete()
    alone = browser.post(page, login)
    assert len(alone.context["logins"]) == 1
    assert "not registered as a cluster" in alone.context["note"]
