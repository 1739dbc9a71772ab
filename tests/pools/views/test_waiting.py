"""What a diagnosis shows of the sessions that others wait for, and of a queue whose clients nobody can disconnect."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.test import Client as Browser

from pools.diagnosis import diagnosis, shared
from pools.diagnosis.diagnosis import Diagnosis, Holder, Target
from pools.diagnosis.finding import Finding
from pools.models import Pool
from pools.poolers.pool_queue import PoolQueue, QueuedClient
from pools.views.waiting import ShownDiagnosis
from tests.pools.diagnosis.test_causes import OPEN, connection
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db
KEPT = replace(OPEN, kept="superuser", role="postgres", query="")
REFUSAL = "process 7 belongs to the superuser postgres: a superuser alone may end it"


def a_diagnosis() -> Diagnosis:
    client = QueuedClient("app", "shop", "10.0.0.7:50001", 3.0)
    queue = PoolQueue("orders", waiting=1, clients=(client,))
    finding = Finding("A lock.", "End it.", pids=(7,))
    holders = (Holder(connection(7), KEPT),)
    return Diagnosis("orders", datetime.now(UTC), "lock", finding, holders=holders, queue=queue)


@pytest.mark.parametrize(("may_end", "refusal"), [(True, REFUSAL), (False, "")])
def test_why_a_session_is_not_ended_is_told_to_who_may_end_others(may_end: bool, refusal: str) -> None:
    assert ShownDiagnosis(a_pool(), a_diagnosis(), may_end, "").to_end == [(KEPT, refusal)]


@pytest.fixture
def page(admin_client: Browser, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page of a pool whose server is asked of nobody."""
    pool: Pool = a_pool()

    def ask(_target: Target) -> Diagnosis:
        return a_diagnosis()

    monkeypatch.setattr(diagnosis, "of", ask)
    shared._slots.clear()
    return admin_client.get(f"/pools/{pool.pk}/waiting/").text


def test_a_session_without_a_statement_and_a_client_without_a_number_leave_no_empty_places(page: str) -> None:
    assert "A lock." in page
    assert "why-statement" not in page
    assert page.count("pd-row-actions") == 1, "of the server connection"
