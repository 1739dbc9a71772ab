"""What a login costs: parts of the same logins, so that no part exceeds the whole."""

import itertools
import time

import pytest

from pools.advice import login_cost
from pools.advice.login_cost import Login
from pools.clusters.endpoints import Endpoint
from pools.errors import PoolerUnreachable
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry, know_password

ENDPOINT = Endpoint(host="localhost", port=5432, database="app", user="app")


def test_one_slow_login_does_not_make_a_part_more_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    burns = itertools.chain([0.0, 0.1], itertools.repeat(0.001))

    def log_in(endpoint: Endpoint) -> tuple[str, bool]:
        until = time.thread_time() + next(burns)
        while time.thread_time() < until:
            pass
        return "", False

    monkeypatch.setattr(login_cost, "_log_in", log_in)
    login = login_cost._measured("directly", ENDPOINT, ())
    assert 0 < login.client_cpu_ms <= login.total_ms
    assert (login.pooler_cpu_ms, login.tls_ms) == (None, None)


@pytest.mark.parametrize("user", ["postgres", "app"])
def test_a_login_that_is_given_without_a_password_is_never_measured_with_a_stored_one(
    db: None, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    entry, measured = an_entry(cluster=a_cluster()), []
    know_password(entry.cluster, "app", "app-secret")

    def note(route: str, endpoint: Endpoint, pids: tuple[int, ...]) -> Login:
        measured.append((endpoint.user, endpoint.password, endpoint.database))
        return Login(route, 1.0, 1.0)

    monkeypatch.setattr(login_cost, "_measured", note)
    login_cost.measure_entry(entry, user, "")
    assert measured == [(user, "", entry.name), (user, "", "shop")]


def test_where_no_pool_is_managed_no_remedy_speaks_of_an_apply(db: None) -> None:
    pooler, login = a_pooler(config_dir="", server_version="PgBouncer 1.18.0"), Login("x", 9.0, 0.1, 8.0)
    _keep, hashing = login_cost.remedies_of(pooler, login, is_managed=False)
    assert hashing == "This PgBouncer hashes the password at every login: use 1.25 or later, which caches the result."
    assert any("apply the pool again" in one for one in login_cost.remedies_of(pooler, login))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "/run/postgresql"])
def test_a_pooler_that_its_own_host_alone_reaches_is_not_looked_for_on_this_machine(
    db: None, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr(login_cost, "_log_in", lambda _endpoint: pytest.fail("a login was sent somewhere"))
    pooler = a_pooler(host=host, delivery="ssh")
    with pytest.raises(PoolerUnreachable, match="listens on its own host alone, and through SSH a login takes longer"):
        login_cost.measure(a_pool(pooler=pooler))
    with pytest.raises(PoolerUnreachable, match="listens on its own host alone"):
        login_cost.measure_entry(an_entry(pooler=pooler, cluster=a_cluster()), "app", "app-password")
