"""Whatever address answers with a secret of the panel has an entry in the trail by then, which says who got it and how.

Every column of secrets is filled with a word of its own, and every method of every address is asked by somebody who may
do everything: an answer with one of those words is a reveal, whoever wrote that page.
"""

import io
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from typing import Any, cast

import pytest
from click.testing import CliRunner
from django.core.cache import cache
from django.db import transaction
from django.test import Client

from benchmarks.models import ExternalEndpoint
from core.accounts import operations
from core.accounts.models import ApiToken, Scope
from core.accounts.routes import Route
from core.audit.connections import RecordingConnection
from core.audit.models import Entry
from core.installation import key_rotation
from panel.command_line import pooldeck
from pools.connection_strings import FORMATS
from pools.models import Cluster, Host, Pooler, PoolerFile, Revision, RolePassword, TakeOver, TakeOverState
from pools.models.revisions import RevisionContent
from pools.models.take_overs import Original
from tests.panel.access_matrix.addresses import address_of, body_of
from tests.panel.access_matrix.cells import ROUTES, is_for_machines, is_stream, noun_of, revealing
from tests.panel.access_matrix.conftest import everything

CANARY, OWN_PASSWORD = "zqcanary", "zq-own-password"
# what is sealed in a form that only the verb of the request opens, which acts
UNPLANTED = {"ApprovalRequest.sealed_arguments"}
METHODS = [route for route in ROUTES if not is_stream(route)]
KINDS = sorted({noun_of(route) for route in METHODS})
# `reveal=1` where there is nothing to reveal, and entries, of which the panel knows no password
REVEALING_NOTHING = {"secret.reveal", "entry.reveal"}


def plant(records: dict[str, Any]) -> set[str]:
    """Put a word into each column of secrets, and return the columns."""
    for server in [*Cluster.objects.all(), *Pooler.objects.all()]:
        server.admin_password = f"{CANARY}-admin"
        server.save()
    for one in RolePassword.objects.all():
        one.password = f"{CANARY}-role"
        one.save()
    for host in Host.objects.all():
        host.private_key = f"{CANARY}-key"
        host.save()
    for endpoint in ExternalEndpoint.objects.all():
        endpoint.password, endpoint.console_password = f"{CANARY}-endpoint", f"{CANARY}-console"
        endpoint.save()
    for file in PoolerFile.objects.all():
        file.content = f"the secret {CANARY}-given"  # a text without a word for secrets is shown
        file.save()
    for pooler in (records["pooler"], records["pulled"]):
        taken = TakeOver(pooler_id=pooler, state=TakeOverState.TAKEN, config_file="/zq/pgbouncer.ini")
        taken.originals = {"/zq/userlist.txt": Original(role="users", content=f'"zq" "{CANARY}-before"'.encode())}
        taken.save()
    files = {"userlist.txt": f'"zqrole" "{CANARY}-user"\n', "pooldeck.ini": f"[databases]\nzq = password={CANARY}-db\n"}
    for revision in Revision.objects.all():
        RevisionContent.objects.filter(revision=revision).delete()
        RevisionContent.of(revision, files, {"client_tls_key_file": f"{CANARY}-file"}, {}).save()
    return {f"{one.model.__name__}.{one.field.name}" for one in key_rotation.columns() if one.is_sealed and one.rows}


@dataclass(frozen=True)
class Planted:
    """The records with words in place of their secrets, and an administrator's browser and token."""

    records: dict[str, Any]
    browser: Client
    token: str


@pytest.fixture(scope="module")
def planted(in_a_transaction: None) -> Planted:
    """Made once: each request is taken back. The administrator has a password, which pages ask for."""
    made = everything()
    every = {f"{one.model.__name__}.{one.field.name}" for one in key_rotation.columns() if one.is_sealed}
    assert every - plant(made.records) <= UNPLANTED, "put a word into the new column of secrets"
    admin, browser = made.people["admin"], Client(raise_request_exception=False)
    admin.set_password(OWN_PASSWORD)
    admin.save()
    browser.force_login(admin)
    return Planted(made.records, browser, ApiToken.objects.issue(admin, "zqreveals", list(Scope)))


def askings(route: Route) -> Iterator[tuple[str, Any]]:
    """What is added to the address, and the body: without and with what asks for secrets."""
    if is_for_machines(route):
        body = None if route.method == "get" else body_of(route.path, route.method)
        yield ("?reveal=1" if revealing(route) else "", body)
    elif route.method == "get":
        yield "", None
    else:
        yield "", {"reveal": "1", "password": OWN_PASSWORD}
        yield "", {"as": "uri", "password": OWN_PASSWORD}


def asked(route: Route, planted: Planted) -> Iterator[tuple[bytes, list[Entry]]]:
    """Each answer, and the entries that it left."""
    connection = cast("RecordingConnection", transaction.get_connection())
    for query, body in askings(route):
        client, words = Client(raise_request_exception=False), {}
        if is_for_machines(route):
            words = {"headers": {"Authorization": f"Bearer {planted.token}"}}
            words |= {"data": body, "content_type": "application/json"} if body is not None else {}
        else:
            client.cookies.update(planted.browser.cookies)
            words = {"data": body} if body is not None else {}
        with transaction.atomic():
            connection.kept = []
            answer = getattr(client, route.method)(address_of(route.path, planted.records) + query, **words)
            text = b"".join(answer.streaming_content) if answer.streaming else answer.content
            yield text, [one.entry for one in connection.kept]
            transaction.set_rollback(True)
        cache.clear()


def is_told(entry: Entry) -> bool:
    """Tell whether an entry says who got a secret, from where, of what, and in which form."""
    who = (entry.actor_kind in ("person", "token"), entry.actor_name.startswith("zquser"), entry.source)
    return (
        entry.action == "secret.reveal"
        and who == (True, True, "127.0.0.1")
        and bool(entry.object_id and entry.object_name and entry.fields["after"]["form"])
    )


@pytest.mark.parametrize("noun", KINDS)
def test_no_secret_is_shown_without_an_entry(noun: str, planted: Planted, outside: None) -> None:
    untold = []
    for route in METHODS:
        if noun_of(route) != noun or route.method not in ("get", "post"):
            continue
        for text, entries in asked(route, planted):
            shown, told = CANARY.encode() in text, any(is_told(one) for one in entries)
            where = f"{route.method.upper()} /{route.path}"
            untold += [where] if shown and not told else []
    assert untold == []


def test_every_operation_that_reveals_does_so_with_an_entry(planted: Planted, outside: None) -> None:
    reveals = {one.name for one in operations.registered() if one.name.endswith((".reveal", ".files"))}
    met: set[str] = set()
    for route in METHODS:
        names = {getattr(one, "name", "") for one in (route.operation, revealing(route))} & reveals
        for text, entries in asked(route, planted) if names else ():
            met |= names if CANARY.encode() in text and any(is_told(one) for one in entries) else set()
    assert reveals - met == REVEALING_NOTHING


SERVER_ERROR = 5  # the client's exit code where a server of the records can't be reached
Commands = Callable[..., tuple[str, list[Entry]]]


class ThroughTheTestClient:
    """What opens the client's requests, in place of the network: by Django's own test client, in this process."""

    def open(self, request: urllib.request.Request, timeout: float) -> Any:
        headers = {name: str(value) for name, value in request.header_items() if name != "Content-type"}
        answer = Client().generic(
            request.get_method(),
            request.selector,
            cast("bytes", request.data or b""),
            content_type="application/json",
            headers=headers,
        )
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        if answer.status_code >= 400:
            raise urllib.error.HTTPError(request.full_url, answer.status_code, "", Message(), io.BytesIO(content))
        return closing(io.BytesIO(content))


@pytest.fixture
def by_client(planted: Planted, outside: None, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The client with a login, as a function that returns what a command prints and which reveals it left."""
    monkeypatch.setattr(urllib.request, "build_opener", lambda *_handlers: ThroughTheTestClient())
    login = {"POOLDECK_URL": "http://testserver", "POOLDECK_TOKEN": planted.token}
    connection = cast("RecordingConnection", transaction.get_connection())

    def carry_out(*words: str) -> tuple[str, list[Entry]]:
        with transaction.atomic():
            connection.kept = []
            done = CliRunner().invoke(pooldeck, list(words), env=login)
            left = [one.entry for one in connection.kept if one.entry.action == "secret.reveal"]
            transaction.set_rollback(True)
        cache.clear()
        assert done.exit_code in (0, SERVER_ERROR), done.output
        return done.stdout, left

    return carry_out


@pytest.mark.parametrize("kind", FORMATS)
def test_what_the_client_prints_with_a_password_has_an_entry(kind: str, planted: Planted, by_client: Commands) -> None:
    pool = str(planted.records["pool"])
    text, entries = by_client("uri", pool, "--as", kind, "--reveal")
    assert (CANARY in text, [is_told(one) for one in entries]) == (True, [True])
    assert entries[0].fields["after"]["form"] == kind
    without, entries = by_client("uri", pool, "--as", kind)
    assert (CANARY in without, entries) == (False, [])


READ_BY_CLIENT = [route for route in METHODS if route.path.startswith(("api/v1/", "v2/")) and route.method == "get"]


def test_any_request_of_the_client_that_shows_a_secret_has_an_entry(planted: Planted, by_client: Commands) -> None:
    shown, untold = set(), set()
    for route in READ_BY_CLIENT:
        if not (revealing(route) or (route.operation and route.operation.name.endswith((".reveal", ".files")))):
            continue
        address = f"/{address_of(route.path, planted.records).lstrip('/')}"
        text, entries = by_client("api", "GET", address + ("?reveal=1" if revealing(route) else ""))
        shown |= {route.path} if CANARY in text else set()
        untold |= {route.path} if CANARY in text and not any(is_told(one) for one in entries) else set()
    assert untold == set()
    assert {"api/v1/pools/<uuid:pk>/connection/", "api/v1/poolers/<uuid:pk>/files/"} <= shown
