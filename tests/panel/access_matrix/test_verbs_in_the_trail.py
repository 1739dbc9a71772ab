"""Every command of a console, on each page and address that sends it, leaves who, from where, what and its outcome.

The commands are those that the kinds of poolers and their pages name, and the addresses those of the operations on
consoles: a new one without an entry fails here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from django.db import transaction
from django.test import Client

from core.accounts.models import ApiToken
from core.accounts.routes import Route
from core.audit.connections import RecordingConnection
from pools.errors import ConsoleRefused, PoolsError
from pools.poolers import KINDS
from pools.poolers.faults import Rejected
from pools.poolers.pgpool import node_admin
from pools.views import pool_verbs
from tests.panel.access_matrix.addresses import address_of
from tests.panel.access_matrix.cells import ROUTES, is_for_machines
from tests.panel.access_matrix.conftest import Prepared
from tests.pools.consoles import CLIENT, FakeControls

OPERATIONS = {"pool.console", "entry.console", "pooler.attach"}
KILLED = {"number": "2", "connected_at": "2026-01-31"}  # as the query of the page has it
BODIES = {"pause": {"deadline_s": 1, "hold_s": 2}, "kill": {"hold_s": 0}}
REFUSAL = "the console says no"
WORD = "<str:word>"
ROUTES_OF_CONSOLES = [
    route for route in ROUTES if route.method == "post" and route.operation and route.operation.name in OPERATIONS
]


def verbs_of_kinds() -> set[str]:
    """Each kind's commands on a pool, and on its own backends."""
    on_pools = {verb for driver in KINDS.values() for verb in driver.verbs}
    on_nodes = {f"{verb}_node" for driver in KINDS.values() if driver.node_admin for verb in node_admin.VERBS}
    on_clients = {"kill_client" for driver in KINDS.values() if "kill" in driver.verbs}
    return on_pools | on_nodes | on_clients


def sendings() -> Iterator[tuple[Route, str, str]]:
    """Each route with its path, in which pages have a word for the command, and the command."""
    for route in ROUTES_OF_CONSOLES:
        if WORD in route.path:
            yield from ((route, route.path.replace(WORD, verb), verb) for verb in pool_verbs.VERBS)
        elif route.path.endswith("/clients/<int:number>/kill/"):
            yield route, route.path, "kill_client"
        else:
            last = route.path.rstrip("/").rpartition("/")[2].replace("-", "_")
            yield route, route.path, last if "node" in last or "api/" in route.path else f"{last}_node"


SENDINGS = list(sendings())


@pytest.fixture
def consoles(outside: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[PoolsError | None], None]:
    """Let each console do what it is told, or refuse it."""

    def answer(refusal: PoolsError | None) -> None:
        @contextmanager
        def opened(*_: object) -> Iterator[FakeControls]:
            if refusal:
                raise refusal
            yield FakeControls(client=replace(CLIENT, **KILLED))

        def change(*_: object) -> None:
            if refusal:
                raise Rejected(REFUSAL)

        for driver in KINDS.values():
            monkeypatch.setattr(type(driver), "controls", opened)
        for verb in node_admin.VERBS:
            monkeypatch.setitem(node_admin.VERBS, verb, change)

    return answer


def entries_of(path: str, verb: str, records: dict[str, Any], client: Client, headers: dict[str, str]) -> list[Any]:
    """The entries of one command: who, from where, what, of what and how it ended."""
    name = {"pools": "zqpool", "entries": "zqentry"}.get(path.removeprefix("api/v1/").partition("/")[0], "zqpgpool")
    body = {**BODIES.get(verb, {}), "confirm": name, "number": 2}
    if verb == "kill_client":
        body = dict(KILLED)
    elif verb not in BODIES:
        body = {"number": 2} if "node" in verb else {}
    elif verb == "pause":
        del body["confirm"], body["number"]
    else:
        del body["number"]
    connection = cast("RecordingConnection", transaction.get_connection())
    words = {"headers": headers, "content_type": "application/json"} if headers else {}
    with transaction.atomic():
        connection.kept = []
        answer = client.post(address_of(path, {**records, "number": 2}), body, **words)
        assert answer.status_code < 500, (answer.status_code, answer.content[:500])
        kept = [one.entry for one in connection.kept]
        transaction.set_rollback(True)
    return [(one.actor_name, one.source, one.action, one.object_name, one.outcome.split(":")[0]) for one in kept]


@pytest.mark.parametrize("refusal", [None, ConsoleRefused(REFUSAL)], ids=["done", "refused"])
@pytest.mark.parametrize(("route", "path", "verb"), SENDINGS, ids=[path for _, path, _ in SENDINGS])
def test_every_command_leaves_that_it_was_asked_for_and_how_it_ended(
    route: Route,
    path: str,
    verb: str,
    refusal: PoolsError | None,
    consoles: Callable[[PoolsError | None], None],
    prepared: Prepared,
) -> None:
    consoles(refusal)
    client, headers = Client(raise_request_exception=False), {}
    who = ApiToken.objects.get(name="operator").user.get_username()
    if is_for_machines(route):
        headers, who = {"Authorization": f"Bearer {prepared.tokens['operator']}"}, f"{who}: operator"
    else:
        client.cookies.update(prepared.browsers["operator"].cookies)
    subject = {"pools": "zqpool", "entries": "zqentry"}.get(path.removeprefix("api/v1/").partition("/")[0], "zqpgpool")
    act = f"pooler.{verb}" if "node" in verb else f"pool.{verb}"
    found = [one for one in entries_of(path, verb, prepared.records, client, headers) if one[2] == act]
    told = (who, "127.0.0.1", act, subject)
    assert found == [(*told, "asked for"), (*told, "failed" if refusal else "done")]


def test_every_command_of_every_kind_is_sent_by_page_and_by_api() -> None:
    by_way = {way: {verb for route, _, verb in SENDINGS if is_for_machines(route) is way} for way in (True, False)}
    assert by_way == {True: verbs_of_kinds(), False: verbs_of_kinds()}
