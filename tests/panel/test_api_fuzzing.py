"""The API as its own description says, with whatever that allows and much that it does not: nobody meets a 500.

What is answered is what the description has.
"""

import json
import os
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from rest_framework.test import APIClient
from schemathesis.core import NotSet

from core.accounts.models import Membership, Role, Team
from tests import callers, openapi
from tests.benchmarks.records import a_finished_run
from tests.pools.records import a_pool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_leaves")]
EXAMPLES = int(os.environ.get("POOLDECK_TEST_FUZZ", "3"))
DEEP = 10 * EXAMPLES
OTHER_TEAM = "owner of another team"
QUICKLY = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
EXPECTED = (502, 503)  # The server or Redis can't be reached.


@pytest.fixture
def known(db: None) -> dict[str, str]:
    """Path → what stands there, so that some made-up requests meet something."""
    pool = a_pool()
    run = a_finished_run(pool=pool, cluster=pool.cluster)
    return {
        "/pools/": str(pool.pk),
        "/clusters/": str(pool.cluster_id),
        "/poolers/": str(pool.pooler_id),
        "/runs/": str(run.pk),
    }


# by operation and number: to make them up costs more than to ask them, for each set of scopes and each role
_made_up: dict[tuple[str, int], list[Any]] = {}


def asked_of(operation: Any, known: dict[str, str], count: int) -> list[Any]:
    """Made-up requests, every other one of a record that is there."""
    made_up = _made_up.get((operation.label, count))
    if made_up is None:
        made_up = _made_up[operation.label, count] = _make_up(operation, count)
    key = next((known[part] for part in known if operation.path.startswith(f"/api/v1{part}")), None)
    for case in made_up[1::2]:
        case.path_parameters.update({name: key for name in ("id", "pk") if key and name in case.path_parameters})
    return made_up


def _make_up(operation: Any, count: int) -> list[Any]:
    found: list[Any] = []

    @settings(
        max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    @given(operation.as_strategy())
    def collect(case: Any) -> None:
        found.append(case)

    collect()
    return found


def answer_of(case: Any, caller: APIClient) -> Any:
    """The answer to a made-up request."""
    body = b"" if case.body is None or isinstance(case.body, NotSet) else json.dumps(case.body).encode()
    query = urlencode(case.query or {}, doseq=True)
    path = f"{case.formatted_path}?{query}" if query else case.formatted_path
    headers = {str(name): str(value) for name, value in (case.headers or {}).items()}
    caller.raise_request_exception = False
    return caller.generic(case.method, path, body, content_type="application/json", headers=headers)


def faults_of(answer: Any, described: dict[str, Any], operation: Any) -> list[str]:
    """What the description does not have of a JSON answer to an accepted request."""
    if answer.status_code >= 300 or not answer.headers.get("Content-Type", "").startswith("application/json"):
        return []
    responses = described["paths"][operation.path][operation.method]["responses"]
    content = responses.get(str(answer.status_code), {}).get("content", {})
    if "*/*" in content:
        return []
    if "application/json" not in content:
        return [f"{answer.status_code} with JSON is not described"]
    schema = content["application/json"]["schema"]
    return openapi.faults(described, schema, json.loads(answer.getvalue()), written=False)


ALONE = [pytest.param(("read", scope), marks=pytest.mark.slow) for scope in callers.EVERY_SCOPE[1:]]


def broken_by(caller: APIClient, known: dict[str, str], examples: int = EXAMPLES) -> list[str]:
    """Each made-up request that meets a server error, or an answer that the description does not have."""
    described = openapi.description()
    schema = schemathesis.openapi.from_dict(described)
    broken, count = [], 0
    for operation in (result.ok() for result in schema.get_all_operations()):
        if operation.path.endswith("/events/"):  # a stream
            continue
        for case in asked_of(operation, known, examples):
            answer, count = answer_of(case, caller), count + 1
            status = answer.status_code
            if status >= 500 and status not in EXPECTED:
                broken.append(f"{operation.method} {case.formatted_path}: {status} {case.query} {case.body}")
            elif undescribed := faults_of(answer, described, operation):
                broken.append(f"{operation.method} {case.formatted_path}: {status} {undescribed}")
    assert count > 100
    return broken


def caller_in(role: str) -> APIClient:
    """Somebody of the first of two teams, or the owner of the other, with a token of every scope."""
    first, other = Team.objects.get(), Team.objects.create(name="Payments")
    user = callers.person(staff=False)
    held = {"team": other, "role": Role.OWNER} if role == OTHER_TEAM else {"team": first, "role": Role(role)}
    Membership.objects.create(user=user, **held)
    return callers.bearer(user=user)


# The least that a token may do and the most that it may do meet every view, refused and answered.
@pytest.mark.parametrize("scopes", [("read",), callers.EVERY_SCOPE, *ALONE], ids="+".join)
def test_no_request_of_any_scope_breaks_the_api(scopes: tuple[str, ...], known: dict[str, str]) -> None:
    broken = broken_by(callers.bearer(*scopes), known)
    assert broken == [], "\n".join(broken)


@pytest.mark.parametrize("role", [*Role.values, OTHER_TEAM])
def test_no_request_of_any_role_breaks_the_api(role: str, known: dict[str, str]) -> None:
    broken = broken_by(caller_in(role), known)
    assert broken == [], "\n".join(broken)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("role", [*Role.values, OTHER_TEAM])
def test_no_request_of_many_of_any_role_breaks_the_api(role: str, known: dict[str, str]) -> None:
    broken = broken_by(caller_in(role), known, DEEP)
    assert broken == [], "\n".join(broken)
