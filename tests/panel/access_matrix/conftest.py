"""The callers of the matrix, and the records that they ask for."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import celery
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from pytest_django import DjangoDbBlocker

from benchmarks.generators import heartbeats
from core.accounts.models import FIRST_TEAM, ApiToken, Invitation, Membership, Role, Scope, Team
from panel import help as documentation
from pools.managed_api import config, pools
from pools.models import ClusterCreation, PoolerFile
from pools.poolers.nodes import Node
from pools.poolers.pgpool import node_admin
from tests import callers, openapi
from tests.panel import every_record
from tests.panel.access_matrix.addresses import address_of, body_of
from tests.panel.access_matrix.cells import Cell, is_for_machines

NAME = "zquser"


@pytest.fixture
def no_logs() -> Iterator[None]:
    """Nothing is logged; `logging.disable` alone forgets which levels each logger found disabled."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def outside(db: None, no_logs: None, nothing_leaves: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No server answers, no worker is asked, a generator is alive, and the documentation is built.

    Nothing is logged, since each refusal is, and the API's description is short: to make one takes seconds.
    """
    openapi.description()  # it is kept
    short = {"openapi": "3.0.3", "info": {"title": "zq", "version": "1"}, "paths": {}}
    monkeypatch.setattr(SchemaGenerator, "get_schema", lambda *_args, **_words: short)
    alive = [heartbeats.Heartbeat("zqgenerator", timezone.now())]
    monkeypatch.setattr(heartbeats, "seen", lambda *_key: alive)
    monkeypatch.setattr(celery.Celery, "send_task", lambda *_args, **_words: None)
    monkeypatch.setattr(celery.Task, "apply_async", lambda *_args, **_words: None)
    monkeypatch.setattr(pools, "APPLIED_WITHIN_S", 0.01)
    monkeypatch.setattr(config, "APPLIED_WITHIN_S", 0.01)
    node = Node(2, "zqhost", 1, *("",) * (len(fields(Node)) - 3))
    monkeypatch.setattr(node_admin, "of_pooler", lambda _pooler: [node])
    monkeypatch.setattr(documentation, "SITE", tmp_path)
    (tmp_path / "index.html").write_text("<p>zqpage</p>")


@dataclass(frozen=True)
class Everything:
    """The callers by their names, and a record of each kind, all of the first team."""

    people: dict[str, User]
    records: dict[str, Any]


def everything() -> Everything:
    """Make the callers and the records."""
    people = _people()
    return Everything(people, _records(people))


def _people() -> dict[str, User]:
    """Caller → user: of each role in the first team, the owner of another team, and an administrator."""
    team, other = Team.objects.get(), Team.objects.create(name="Payments")
    found = {role.value: _member(team, role) for role in Role}
    return found | {"other team": _member(other, Role.OWNER), "admin": User.objects.create_superuser(NAME)}


def _member(team: Team, role: Role) -> User:
    user = callers.person(staff=False)
    Membership.objects.create(team=team, user=user, role=role)
    return user


def _records(people: dict[str, User]) -> dict[str, Any]:
    found = every_record.records(people["admin"])
    ClusterCreation.objects.filter(pk=found["creation"]).update(cluster=found["cluster"])
    for key in ("pooler", "pulled"):
        PoolerFile.objects.create(pooler_id=found[key], setting="auth_hba_file")
    team = Team.objects.get(pk=FIRST_TEAM)
    Invitation.objects.filter(pk=found["invitation"]).update(team=team)
    return found | {"team": team.pk, "member": people["viewer"].pk}


@pytest.fixture(scope="module")
def in_a_transaction(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Takes back what fixtures of a module wrote, once its last test is over."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@dataclass(frozen=True)
class Prepared:
    """What cells ask for: the keys of records, and of each caller the browser and the token."""

    records: dict[str, Any]
    browsers: dict[str, Client]
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def prepared(in_a_transaction: None) -> Prepared:
    """What all cells of a module ask for and with: each takes back what it changed, so that once is enough."""
    made = everything()
    return Prepared(
        made.records, {name: _logged_in(user) for name, user in made.people.items()}, tokens_of(made.people)
    )


@pytest.fixture
def ask(prepared: Prepared, outside: None) -> Callable[[Cell], Any]:
    """What asks for a cell and takes back what that changed."""

    def answer(cell: Cell) -> Any:
        client = Client(raise_request_exception=False)
        words: dict[str, Any] = {}
        if is_for_machines(cell.route):
            if cell.caller in prepared.tokens:
                words["headers"] = {"Authorization": f"Bearer {prepared.tokens[cell.caller]}"}
            if cell.route.method != "get":
                # whoever is refused sends what would be accepted
                data = {} if cell.expected == "allowed" else body_of(cell.route.path, cell.route.method)
                words |= {"data": data, "content_type": "application/json"}
        elif cell.caller in prepared.browsers:
            client.cookies.update(prepared.browsers[cell.caller].cookies)
        address = address_of(cell.route.path, prepared.records) + cell.query
        with transaction.atomic():
            found = getattr(client, cell.route.method)(address, **words)
            transaction.set_rollback(True)
        cache.clear()
        return found

    return answer


def _logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def tokens_of(people: dict[str, User]) -> dict[str, str]:
    """Caller → token: of each person with every scope, and of an administrator with each scope alone."""
    found = {name: ApiToken.objects.issue(user, name, list(Scope)) for name, user in people.items()}
    return found | {f"token {scope}": ApiToken.objects.issue(people["admin"], scope, [scope]) for scope in Scope}
