"""A pool's page says how its clients are proved, and about what that costs PgBouncer."""

import pytest
from django.test import Client

from pools import apply, pool_changes
from pools.models import Pool, Pooler
from pools.poolers.pgbouncer import verifiers

pytestmark = [pytest.mark.live, pytest.mark.django_db(transaction=True)]


def test_the_page_says_how_the_password_is_kept_and_why(
    orders: Pool, pooler: Pooler, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pooler.refresh_from_db()
    page = f"/pools/{orders.pk}/"
    assert "checked against the server&#x27;s own SCRAM verifier" in admin_client.get(page).content.decode()
    monkeypatch.setattr(verifiers, "_ask", lambda cluster, names: dict.fromkeys(names, (None, "it may not be read")))
    pool_changes.change(orders, {"size": 2}, None)
    apply.apply_pooler(pooler)
    clear = admin_client.get(page).content.decode()
    assert "stands in clear, and every login by SCRAM hashes it" in clear
    assert "it may not be read" in clear
