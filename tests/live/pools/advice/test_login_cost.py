"""A pool's page says how its clients are proved, and its page of logins what one costs now."""

import pytest
from django.test import Client

from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.inventory import pooler_settings, pools
from pools.models import Pool, Pooler
from pools.poolers.pgbouncer import userlist
from tests.callers import bearer
from tests.certificates import self_signed
from tests.pages import page_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_page_says_how_the_password_is_kept_and_why(
    orders: Pool, pooler: Pooler, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pooler.refresh_from_db()
    page = f"/pools/{orders.pk}/"
    assert "checked against the server&#x27;s own SCRAM verifier" in page_of(admin_client.get(page))
    monkeypatch.setattr(userlist, "_ask", lambda cluster, names: dict.fromkeys(names, (None, "it may not be read")))
    pools.change(orders, {"size": 2}, None)
    deployment.apply_pooler(pooler)
    clear = page_of(admin_client.get(page))
    assert "is stored in clear text, and every login by SCRAM hashes it" in clear
    assert "it may not be read" in clear


def measured(orders: Pool) -> dict[str, dict[str, object]]:
    answer = bearer("run").post(f"/api/v1/pools/{orders.pk}/logins/")
    assert answer.status_code == 200, answer.json()
    return {login["way"]: login for login in answer.json()["logins"]} | {"whole": answer.json()}


def test_a_login_is_measured_now_with_where_its_time_goes(orders: Pool) -> None:
    found = measured(orders)
    through, direct = found["through the pool"], found["directly"]
    for login in (through, direct):
        assert 0 < login["client_cpu_ms"] <= login["total_ms"]
        assert login["tls_ms"] is None
        parts = login["client_cpu_ms"] + (login["pooler_cpu_ms"] or 0) + login["rest_ms"]
        assert parts == pytest.approx(login["total_ms"], abs=1.0)
    assert 0 < through["pooler_cpu_ms"] < through["total_ms"]
    assert direct["pooler_cpu_ms"] is None
    assert "server's own SCRAM verifier" in found["whole"]["client_auth"]
    assert found["whole"]["remedies"][0].startswith("Keep connections")


def test_a_password_in_clear_is_seen_in_the_poolers_processor(
    orders: Pool, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_verifier = measured(orders)["through the pool"]["pooler_cpu_ms"]
    monkeypatch.setattr(userlist, "_ask", lambda cluster, names: dict.fromkeys(names, (None, "it may not be read")))
    pools.change(orders, {"size": 2}, None)
    pooler.refresh_from_db()
    deployment.apply_pooler(pooler)
    found = measured(orders)
    assert found["through the pool"]["pooler_cpu_ms"] > 3 * by_verifier  # it hashes: some 4.5 ms in place of 0.2
    assert any("hashes the password at every login" in remedy for remedy in found["whole"]["remedies"])


def test_the_handshake_of_tls_is_told_apart(orders: Pool, pooler: Pooler) -> None:
    key, certificate = self_signed("localhost")
    pooler_settings.give_files(pooler, {"client_tls_key_file": key, "client_tls_cert_file": certificate})
    pooler_settings.change_settings(pooler, {"client_tls_sslmode": "allow"}, None)
    pooler.refresh_from_db()
    deployment.apply_pooler(pooler)
    through = measured(orders)["through the pool"]
    assert 0 < through["tls_ms"] < through["total_ms"]


def test_the_page_measures_at_the_press_of_a_button(orders: Pool, admin_client: Client) -> None:
    page = f"/pools/{orders.pk}/logins/"
    assert "Measure it now" in page_of(admin_client.get(page))
    shown = page_of(admin_client.post(page))
    assert "Through the pool" in shown
    assert "How to shorten it" in shown


def test_a_pooler_that_is_away_is_said(orders: Pool, pgbouncer: PgBouncerServer, admin_client: Client) -> None:
    pgbouncer.stop()
    shown = page_of(admin_client.post(f"/pools/{orders.pk}/logins/"))
    assert "No login could be measured" in shown
    assert "nothing listens at" in shown
