"""Each act of the table is held back on a protected cluster, by its page and by the API, and none is forgotten."""

import ast
import time
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from core.accounts import confirmation
from pools.api.description import HELD_OPERATIONS
from pools.approvals import requests
from pools.approvals.acts import ACTS
from pools.deployment import snapshots
from pools.models import (
    Act,
    ApprovalRequest,
    ApprovalRules,
    Cluster,
    Pool,
    Pooler,
    Revision,
    RevisionState,
    ShelfEntry,
)
from pools.provisioning import databases, roles
from tests.callers import bearer, person
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry, checked

LIMIT = 20


class World:
    """A protected cluster with what an act can be about."""

    def __init__(self) -> None:
        self.cluster: Cluster = a_cluster(name="orders", port=1)
        checked(self.cluster)
        self.empty: Cluster = a_cluster(name="idle", port=2)
        self.claimed: Cluster = a_cluster(name="lent", port=3)
        for cluster in (self.cluster, self.empty, self.claimed):
            ApprovalRules.objects.create(cluster=cluster, acts=list(Act.values), pool_size=LIMIT)
        given = {"name": "lent", "size": "s", "region": "r", "claimed_at": timezone.now()}
        self.shelf = ShelfEntry.objects.create(cluster=self.claimed, **given)
        self.pooler: Pooler = a_pooler(name="front", port=5)
        self.watched: Pooler = a_pooler(name="edge", config_dir="", port=6)
        an_entry(name="reports", pooler=self.watched, cluster=self.cluster)
        self.pool: Pool = a_pool(name="shop", cluster=self.cluster, pooler=self.pooler, size=10)
        self.revision = Revision.objects.draft(self.pooler, {}, specs=snapshots.snapshot(self.pooler))
        self.revision.finish(RevisionState.APPLIED)
        a_pool(name="later", cluster=self.cluster, pooler=self.pooler, size=5)  # a rollback removes it


def pool_values(world: World, **values: object) -> dict[str, object]:
    usual = {"name": "big", "pooler": str(world.pooler.pk), "cluster": str(world.cluster.pk), "database": "shop"}
    return {**usual, "user": "app", "user_password": "secret", "mode": "transaction", "size": LIMIT + 1, **values}


Call = tuple[str, str, dict[str, object]]  # method, address, body
PAGES: dict[str, Callable[[World], Call]] = {
    "database.drop": lambda w: ("post", f"/clusters/{w.cluster.pk}/databases/drop/?name=shop", {"name": "shop"}),
    "role.drop": lambda w: ("post", f"/clusters/{w.cluster.pk}/roles/drop/?name=app", {"name": "app"}),
    "pool.kill": lambda w: ("post", f"/pools/{w.pool.pk}/console/kill/", {"confirm": "shop", "hold_s": 0}),
    "pool.remove": lambda w: ("post", f"/pools/{w.pool.pk}/delete/", {"name": "shop"}),
    "pooler.remove": lambda w: ("post", f"/poolers/{w.watched.pk}/delete/", {"name": "edge"}),
    "cluster.remove": lambda w: ("post", f"/clusters/{w.empty.pk}/delete/", {"name": "idle"}),
    "cluster.give_back": lambda w: ("post", f"/shelf/{w.shelf.pk}/return/", {"name": "lent"}),
    "pooler.take_over": lambda w: ("post", f"/poolers/{w.watched.pk}/take-over/", {"config_file": "/etc/p.ini"}),
    "pooler.let_go": lambda w: ("post", f"/poolers/{w.pooler.pk}/let-go/", {"confirm": "yes"}),
    "pool.create": lambda w: ("post", "/pools/new/", pool_values(w)),
    "pool.change": lambda w: ("post", f"/pools/{w.pool.pk}/edit/", pool_values(w, name="shop", version=w.pool.version)),
    "pooler.roll_back": lambda w: ("post", f"/poolers/{w.pooler.pk}/revisions/{w.revision.number}/rollback/", {}),
    "cluster.change_approval_rules": lambda w: ("post", f"/clusters/{w.cluster.pk}/approvals/", {"acts": ["drop"]}),
}
API: dict[str, Callable[[World], Call]] = {
    "database.drop": lambda w: ("delete", f"clusters/{w.cluster.pk}/databases/shop/", {}),
    "role.drop": lambda w: ("delete", f"clusters/{w.cluster.pk}/users/app/", {}),
    "pool.kill": lambda w: ("post", f"pools/{w.pool.pk}/kill/", {"confirm": "shop"}),
    "pool.remove": lambda w: ("delete", f"pools/{w.pool.pk}/", {}),
    "pooler.remove": lambda w: ("delete", f"poolers/{w.watched.pk}/", {}),
    "cluster.remove": lambda w: ("delete", f"clusters/{w.empty.pk}/", {}),
    "pooler.take_over": lambda w: ("post", f"poolers/{w.watched.pk}/take-over/", {"config_file": "/etc/p.ini"}),
    "pooler.let_go": lambda w: ("post", f"poolers/{w.pooler.pk}/let-go/", {}),
    "pool.create": lambda w: ("post", "pools/", pool_values(w)),
    "pool.change": lambda w: ("patch", f"pools/{w.pool.pk}/", {"size": LIMIT + 1, "version": w.pool.version}),
    "pooler.roll_back": lambda w: ("post", f"poolers/{w.pooler.pk}/rollback/", {"revision": w.revision.number}),
    "cluster.change_approval_rules": lambda w: (
        "put",
        f"clusters/{w.cluster.pk}/approval-rules/",
        {"acts": list(Act.values), "pool_size": None},
    ),
}
MANAGED: dict[str, Callable[[World], Call]] = {
    "database.drop": lambda w: ("delete", f"databases/{w.cluster.pk}/dbs/shop", {}),
    "role.drop": lambda w: ("delete", f"databases/{w.cluster.pk}/users/app", {}),
    "pool.remove": lambda w: ("delete", f"databases/{w.cluster.pk}/pools/shop", {}),
    "pool.change": lambda w: (
        "put",
        f"databases/{w.cluster.pk}/pools/shop",
        {"size": LIMIT + 1, "mode": "transaction", "db": "shop", "user": "app"},
    ),
    "cluster.give_back": lambda w: ("delete", f"databases/{w.claimed.pk}", {}),
}


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    """No server is asked: what a verb needs to know of one is given."""
    monkeypatch.setattr(requests, "_fingerprint", lambda act, given: "same")
    for module in (databases, roles):
        found = module.Database if module is databases else module.Role
        one = found(**_fields(found))
        monkeypatch.setattr(module, "find", lambda cluster, name, one=one: one)
        monkeypatch.setattr(module, "blocking", lambda cluster, name: [])
    return World()


def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a database or role without a default, with values that nothing is held against."""
    values = {"name": "shop" if kind is databases.Database else "app"}
    needed = [one for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
    return {one.name: values.get(one.name, False if "bool" in str(one.type) else 1) for one in needed}


def a_browser() -> Client:
    client = Client()
    client.force_login(person())
    session = client.session
    session[confirmation.CONFIRMED_AT] = time.time()
    session.save()
    return client


def test_the_tables_of_this_test_are_whole() -> None:
    assert set(ACTS) == set(PAGES) == set(requests.VERBS)
    assert set(ACTS) - set(API) == {"cluster.give_back"}  # the panel's own API has no such address
    assert set(API) == set(HELD_OPERATIONS)  # so that the schema tells of it


@pytest.mark.parametrize("verb", sorted(PAGES))
def test_a_page_leads_to_the_request_that_waits(world: World, verb: str) -> None:
    method, address, body = PAGES[verb](world)
    answer = getattr(a_browser(), method)(address, body)
    asked = ApprovalRequest.objects.get()
    assert (answer.status_code, answer.headers.get("Location")) == (302, f"/approvals/{asked.pk}/")
    assert (asked.verb, asked.state) == (verb, "pending")


@pytest.mark.parametrize("verb", sorted(API))
def test_the_api_answers_202_with_its_address(world: World, verb: str) -> None:
    method, address, body = API[verb](world)
    answer = getattr(bearer(), method)(f"/api/v1/{address}", body, format="json")
    asked = ApprovalRequest.objects.get()
    assert answer.status_code == 202
    assert answer.json()["approval"] == {"id": str(asked.pk), "url": f"/api/v1/approvals/{asked.pk}/"}
    assert (asked.verb, asked.state) == (verb, "pending")


@pytest.mark.parametrize("verb", sorted(MANAGED))
def test_the_managed_api_answers_403_that_says_where_it_waits(world: World, verb: str) -> None:
    method, address, body = MANAGED[verb](world)
    answer = getattr(bearer(), method)(f"/v2/{address}", body, format="json")
    asked = ApprovalRequest.objects.get()
    assert (answer.status_code, answer.json()["id"]) == (403, "forbidden")
    assert f"/approvals/{asked.pk}/" in answer.json()["message"]


@pytest.mark.parametrize("verb", sorted(set(API) - {"pooler.take_over", "pooler.let_go"}))
def test_without_rules_nothing_waits(world: World, verb: str) -> None:
    ApprovalRules.objects.all().delete()
    method, address, body = API[verb](world)
    with pytest.MonkeyPatch.context() as patched:
        for module in (databases, roles):
            patched.setattr(module, "drop", lambda *_words: None)
        getattr(bearer(), method)(f"/api/v1/{address}", body, format="json")
    assert not ApprovalRequest.objects.exists()


ROOMS = ("inventory", "provisioning", "console", "deployment")
DESTRUCTIVE = ("drop", "remove", "delete", "kill", "roll_back", "request_release", "give_back", "let_go")
NOT_HELD = {
    "pools/inventory/applied_pools.py:remove": "calls pools.remove, which is held back",
    "pools/inventory/creations.py:deletes": "a question",
    "pools/inventory/hosts.py:remove": "a host belongs to no cluster, and goes only once no pooler needs it",
    "pools/inventory/notification_channels.py:remove": "where notices go, which changes no server",
    "pools/inventory/pooler_settings.py:remove_file": "one given file, which a rollback brings back",
    "pools/inventory/pooler_settings_validation.py:removes": "a question",
    "pools/console/commands.py:kill": "checks what was typed, then calls _kill, which is held back",
    "pools/console/client_end.py:kill_client": "one client that others wait for, which can't wait itself",
    "pools/deployment/attempt.py:delete_removed": "a worker's, after the removal was asked for",
    "pools/deployment/attempt.py:roll_back_pending": "a worker's, which puts back what was live",
}


def is_marked(one: ast.FunctionDef) -> bool:
    marks = [mark.func for mark in one.decorator_list if isinstance(mark, ast.Call)]
    return any(isinstance(mark, ast.Name) and mark.id == "held_back" for mark in marks)


def test_no_verb_that_destroys_is_forgotten() -> None:
    """A new public function of such a name is marked with `held_back`, or says here why it is not."""
    bare = set()
    for room in ROOMS:
        for path in sorted(Path(f"pools/{room}").rglob("*.py")):
            verbs = [one for one in ast.parse(path.read_text()).body if isinstance(one, ast.FunctionDef)]
            named = [one for one in verbs if one.name.startswith(DESTRUCTIVE)]
            bare |= {f"{path}:{one.name}" for one in named if not is_marked(one)}
    assert bare == NOT_HELD.keys()
