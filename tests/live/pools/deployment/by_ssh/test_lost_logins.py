"""Each use of a tunnel survives that the login to the host is lost between asking for the tunnel and connecting."""

import signal
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pools.hosts import kept
from pools.models import Host, Pooler
from pools.poolers import entry_logins, pooler_login
from pools.poolers.entry_logins import ClientRoute, EntryLogin
from pools.poolers.pgbouncer import console, presented_certificate, reload_hazards, verify
from tests.live.conftest import APP_PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)
NO_TLS = ["the pooler does not offer an encrypted connection"]


def login_of_a_client(pooler: Pooler) -> object:
    pool: Any = SimpleNamespace(name="app")
    with verify._connect(pooler, pool, "app", APP_PASSWORD, 5) as session:
        return session.execute("SELECT current_user").fetchone()[0]


def login_of_a_take_over(pooler: Pooler) -> object:
    return entry_logins.answer(pooler, ClientRoute("app"), EntryLogin("app", APP_PASSWORD)).error


def refusal_of_a_wrong_password(pooler: Pooler) -> object:
    drafted = SimpleNamespace(pooler=pooler, asked=[(None, SimpleNamespace(role="app", password="wrong"))])
    hazards: Any = SimpleNamespace(drafted=drafted)
    return "authentication failed" in reload_hazards.Hazards._refusal(hazards, "app", "app")


def version_at_the_console(pooler: Pooler) -> object:
    return [*console.show(pooler, "version")[0]]


USES = {
    login_of_a_client: "app",
    login_of_a_take_over: "",
    refusal_of_a_wrong_password: True,
    lambda pooler: presented_certificate.faults(pooler, ""): NO_TLS,
    version_at_the_console: ["version"],
}


def kill_login(host: Host) -> None:
    with kept.connected(host) as connection:
        connection.client.master.send_signal(signal.SIGKILL)
        connection.client.master.wait(5)


@pytest.mark.parametrize("use", USES, ids=["client", "take-over", "hazard", "certificate", "console"])
def test_a_login_that_is_lost_before_the_connection_is_made_anew(
    monkeypatch: pytest.MonkeyPatch, watched: Pooler, host: Host, use: Callable[[Pooler], object]
) -> None:
    address_of, asked = pooler_login.address_of, []

    def lost_at_once(*words: Any) -> dict[str, Any]:
        asked.append(address_of(*words))
        if len(asked) == 1:
            kill_login(host)
        return asked[-1]

    monkeypatch.setattr(pooler_login, "address_of", lost_at_once)
    assert use(watched) == USES[use]
    assert len(asked) == 2


def test_a_login_that_is_lost_each_time_is_reported(
    monkeypatch: pytest.MonkeyPatch, watched: Pooler, host: Host
) -> None:
    address_of, asked = pooler_login.address_of, []

    def lost_at_once(*words: Any) -> dict[str, Any]:
        asked.append(address_of(*words))
        kill_login(host)
        return asked[-1]

    monkeypatch.setattr(pooler_login, "address_of", lost_at_once)
    assert "Connection refused" in str(login_of_a_take_over(watched))
    assert len(asked) == pooler_login.MOST_TRIES
