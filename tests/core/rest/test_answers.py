"""Answers of the API have the shape that its description gives them; a record of every kind is read."""

import json
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User

from tests import openapi
from tests.callers import bearer
from tests.panel import every_record

pytestmark = pytest.mark.django_db
JSON = "application/json"
KEYS = {"settings-profiles": "profile", "external-endpoints": "external", "people": "person"}
WITHOUT_SERVERS = 45  # operations that read answers without any
QUERIES = {"/api/v1/comparisons/": "?runs={run},{other_run}", "/api/v1/experiments/{id}/report/": "?as=json"}


@pytest.fixture
def nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is connected to."""

    def refuse(*_: object, **__: object) -> None:
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(psycopg, "connect", refuse)


def address(path: str, keys: dict[str, Any]) -> str:
    """The address of the record of its kind."""
    noun = path.removeprefix("/api/v1/").partition("/")[0]
    own = keys.get(KEYS.get(noun, noun.removesuffix("s")))
    parts = (
        keys
        | {"user": keys["member"]}
        | {"id": own, "cluster": keys["shelf"], "kind": "waiting", "name": "reconnect", "word": "pools"}
    )
    return path.format(**parts) + QUERIES.get(path, "").format(**keys)


def faults_of(answer: Any, operation: dict[str, Any]) -> list[str]:
    """What the description does not have of a JSON answer."""
    described = operation["responses"].get(str(answer.status_code), {}).get("content", {})
    if JSON not in described:
        return [] if "*/*" in described else [f"{answer.status_code} with JSON is not described"]
    body = json.loads(answer.getvalue())
    return openapi.faults(openapi.description(), described[JSON]["schema"], body, written=False)


def test_every_record_is_answered_as_described(nothing_answers: None) -> None:
    root = User.objects.create_superuser("root")
    keys, caller = every_record.records(root), bearer(user=root)
    faults, read = {}, 0
    for path, found in openapi.description()["paths"].items():
        if "get" not in found or (path.endswith(("/events/", "/live/")) and "{id}" in path):
            continue
        answer = caller.get(address(path, keys))
        if answer.status_code == 200 and answer["Content-Type"].startswith(JSON):
            read += 1
            faults[path] = faults_of(answer, found["get"])
    assert {path: one for path, one in faults.items() if one} == {}
    assert read > WITHOUT_SERVERS
