"""Where nothing of a person's choice may lead; names are resolved by a fake, and nothing is ever sent there."""

import socket
from types import SimpleNamespace

import psycopg
import pytest

from core.lib import addresses, env
from pools.clusters import connect, nodes
from pools.errors import ClusterUnreachable, InvalidValues, PoolerUnreachable
from pools.inventory import clusters, poolers
from pools.models import Cluster, Pooler
from pools.poolers import KINDS, pooler_login
from pools.poolers.haproxy import stats_page
from tests.pools.records import a_cluster, a_pooler

FORBIDDEN = [
    ("169.254.169.254", "169.254.169.254", "cloud's metadata service"),
    ("2852039166", "169.254.169.254", "cloud's metadata service"),
    ("0xa9fea9fe", "169.254.169.254", "cloud's metadata service"),
    ("::ffff:169.254.169.254", "::ffff:169.254.169.254", "cloud's metadata service"),
    ("fe80::1", "fe80::1", "cloud's metadata service"),
    ("rebound.example", "100.100.100.200", "cloud's metadata service"),
    ("0", "0.0.0.0", "not the address of a host"),
    ("localhost", "127.0.0.1", "where the panel's own services listen"),
    ("2130706433", "127.0.0.1", "where the panel's own services listen"),
    ("::ffff:127.0.0.1", "::ffff:127.0.0.1", "where the panel's own services listen"),
    ("127.1.2.3", "127.1.2.3", "where the panel's own services listen"),
]


@pytest.fixture(autouse=True)
def no_packet(monkeypatch, settings):
    """Whoever tries to connect fails the test."""
    settings.REDIS_URL = "redis://127.0.0.1:6399/0"

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was about to be connected to")

    monkeypatch.setattr(psycopg, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.fixture
def resolved(monkeypatch, request):
    """Every name is the address of the test's case, but the panel's own stay what they are."""
    host, address, reason = request.param
    real = socket.getaddrinfo

    def fake(name, port, *words, **named):
        if name != host:
            return real(name, port, *words, **named)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", fake)
    return host, reason


@pytest.mark.parametrize("resolved", FORBIDDEN, indirect=True)
@pytest.mark.django_db
def test_forbidden_hosts_are_refused_at_save_and_at_each_use(resolved):
    host, reason = resolved
    cluster = {"name": "c", "host": host, "port": 6399, "admin_user": "postgres", "admin_password": "secret"}
    pooler = {"name": "p", "kind": "pgbouncer", "host": host, "port": 6399, "admin_user": "x", "config_dir": "/etc/p"}
    for register, values in ((clusters.register, cluster), (poolers.register, pooler)):
        with pytest.raises(InvalidValues) as refused:
            register(values | {"admin_password": "secret"})
        assert reason in refused.value.errors["host"][0]
    pool_set = a_cluster(host="db.example", port=6399)
    with pytest.raises(InvalidValues) as refused:
        nodes.add(pool_set, {"host": host, "port": 6399})
    assert reason in refused.value.errors["host"][0]
    Cluster.objects.filter(pk=pool_set.pk).update(host=host, sealed_admin_password="")
    with pytest.raises(ClusterUnreachable, match=reason) as unreachable:
        connect.connect(Cluster.objects.get(pk=pool_set.pk))
    assert unreachable.value.cause == "forbidden"
    made = a_pooler()
    Pooler.objects.filter(pk=made.pk).update(host=host, port=6399)
    found = Pooler.objects.get(pk=made.pk)
    with pytest.raises(PoolerUnreachable, match=reason):
        KINDS[found.kind].show(found, "version")


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.7", "::1", "/run/postgresql", "@abstract", "nowhere.invalid"])
def test_all_others_may_be_a_servers(host):
    assert addresses.refusal(host, 5432) == ""


@pytest.mark.django_db
def test_what_was_judged_is_what_is_connected_to(monkeypatch):
    """A name that leads elsewhere at the second question is not asked for twice."""
    given: list[dict[str, object]] = []
    answers = iter(["192.0.2.7", "169.254.169.254"])
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), 0))]
    )
    monkeypatch.setattr(addresses, "_own_services", lambda database: iter(()))
    session = SimpleNamespace(info=SimpleNamespace(server_version=15_00_00), execute=lambda _: None)
    monkeypatch.setattr(psycopg, "connect", lambda **words: given.append(words) or session)
    connect.connect(Cluster(host="db.example", port=5432, admin_user="postgres", sslmode="verify-full"))
    assert [(one["host"], one["hostaddr"]) for one in given] == [("db.example", "192.0.2.7")]


@pytest.fixture
def rebound(monkeypatch) -> list[str]:
    """A name that leads to a server when it is judged, and to the cloud's metadata service from then on."""
    asked: list[str] = []

    def answer(name: str, port: int, *_: object, **__: object) -> list[object]:
        asked.append(name)
        address = "192.0.2.7" if len(asked) == 1 else "169.254.169.254"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    monkeypatch.setattr(addresses, "_own_services", lambda database: iter(()))
    return asked


class Connected(Exception):
    """Something was connected to."""


def refuses(given: list[object]) -> object:
    """What stands in for a way to connect: it notes where to."""

    def connect(*words: object, **named: object) -> None:
        given.append(named.get("host") or words[0])
        raise Connected

    return connect


@pytest.mark.django_db
def test_a_pooler_is_connected_to_where_it_was_judged_to_be(monkeypatch, rebound):
    given: list[object] = []
    monkeypatch.setattr(psycopg, "connect", refuses(given))
    monkeypatch.setattr(socket, "create_connection", refuses(given))
    for kind, more in (("pgbouncer", {}), ("pgpool", {"pcp_port": 9898})):
        rebound.clear()
        with pytest.raises(Connected):
            pooler_login.connected(a_pooler(kind=kind, host="db.example", **more), lambda at: psycopg.connect(**at))
    rebound.clear()
    with pytest.raises(Connected):
        stats_page._connect_to_judged(("db.example", 8404), 5)
    assert given == ["192.0.2.7", "192.0.2.7", ("192.0.2.7", 8404)]


@pytest.mark.django_db
def test_of_the_addresses_of_a_pooler_the_first_that_answers_is_used(monkeypatch):
    tried: list[str] = []
    monkeypatch.setattr(addresses, "resolve", lambda host, port: ["192.0.2.7", "192.0.2.8", "192.0.2.9"])

    def log_in(address):
        tried.append(address["host"])
        if address["host"] == "192.0.2.7":
            raise psycopg.OperationalError("connection failed: Connection refused")
        return "session"

    assert pooler_login.connected(a_pooler(host="db.example"), log_in) == "session"
    assert tried == ["192.0.2.7", "192.0.2.8"]


@pytest.mark.django_db
def test_a_login_that_is_refused_by_one_address_is_not_tried_at_the_next(monkeypatch):
    tried: list[str] = []
    monkeypatch.setattr(addresses, "resolve", lambda host, port: ["192.0.2.7", "192.0.2.8"])

    def log_in(address):
        tried.append(address["host"])
        raise psycopg.OperationalError("FATAL: password authentication failed")

    with pytest.raises(psycopg.OperationalError):
        pooler_login.connected(a_pooler(host="db.example"), log_in)
    assert tried == ["192.0.2.7"]


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        ("10.20.1.2", ""),
        ("2001:db8::7", ""),
        ("::ffff:10.20.1.2", ""),
        ("/run/postgresql", ""),
        ("nowhere.invalid", ""),
        ("10.21.1.2", "10.21.1.2 is in no network that POOLDECK_TARGETS_ALLOW names"),
        ("127.0.0.1", "127.0.0.1 is in no network that POOLDECK_TARGETS_ALLOW names"),
        ("::1", "::1 is in no network"),
        ("localhost", "localhost resolves to"),
        ("169.254.169.254", "cloud's metadata service"),
        ("169.254.10.1", "cloud's metadata service"),
    ],
)
def test_where_the_administrator_names_the_networks_of_targets_nothing_else_is_connected_to(host, refused, settings):
    settings.TARGETS_ALLOW = env.networks("10.20.0.0/16, 2001:db8::/32, 169.254.0.0/16")
    found = addresses.refusal(host, 5432)
    assert refused in found
    assert bool(found) == bool(refused)
