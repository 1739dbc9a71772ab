"""The page of advice for a pool's clients."""

import pytest
from django.urls import reverse

from tests.pages import page_of as text_of
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


def page_of(browser, **fields):
    pool = a_pool(pooler=a_pooler(server_version="PgBouncer 1.18.0"), **fields)
    return text_of(browser.get(reverse("pool-clients", args=[pool.pk])))


def test_a_transaction_pool_of_an_old_pgbouncer_says_how_to_stop_preparing(reader):
    page = page_of(reader, mode="transaction")
    assert "What clients have to do in transaction mode, through PgBouncer 1.18.0." in page
    assert "<strong>not kept</strong>" in page
    assert "jdbc:postgresql://…?prepareThreshold=0" in page
    assert "Check what runs" not in page


def test_a_session_pool_has_no_list(reader):
    page = page_of(reader, mode="session")
    assert "Statements can stay as they are" in page
    assert "By client" not in page
