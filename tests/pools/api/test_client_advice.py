"""The API on what a pool's mode breaks and asks of clients."""

import pytest

from tests.callers import anonymous, bearer
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def url():
    pool = a_pool(mode="session", pooler=a_pooler(server_version="PgBouncer 1.18.0"))
    return f"/api/v1/pools/{pool.pk}/"


def test_session_mode_breaks_nothing_and_another_one_can_be_asked_for(url):
    assert bearer().get(f"{url}mode-check/").json() == {"findings": [], "looked": [], "limits": []}
    judged = bearer().get(f"{url}mode-check/?as=transaction").json()
    assert "could not be asked" in judged["limits"][0]
    assert bearer().get(url).json()["mode"] == "session"


def test_the_filters_of_the_list_do_not_hide_a_pool_from_its_own_address(url):
    assert bearer().get(f"{url}mode-check/?as=transaction&mode=transaction").status_code == 200
    assert bearer().get(f"{url}?mode=transaction&search=nothing").json()["mode"] == "session"
    assert bearer().get("/api/v1/pools/?mode=transaction").json()["count"] == 0
    assert bearer().get("/api/v1/pools/?search=nothing").json()["count"] == 0


def test_an_unknown_mode_is_named(url):
    answer = bearer().get(f"{url}mode-check/?as=magic")
    assert (answer.status_code, answer.json()) == (
        400, {"as": ["'magic' is not a pool mode: choose one of session, transaction, statement"]}
    )  # fmt: skip


def test_statements_are_for_those_who_may_apply(url):
    assert bearer("read").get(f"{url}mode-check/").status_code == 403
    assert anonymous().get(f"{url}mode-check/").status_code == 401
    assert bearer("read").post(f"{url}clients/").status_code in (403, 405)


def test_clients_are_advised(url):
    found = bearer("read").get(f"{url}clients/").json()
    assert found["clients"] == []
    assert found["general"][0].startswith("Statements can stay as they are")
