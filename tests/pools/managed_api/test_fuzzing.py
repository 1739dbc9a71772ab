"""Made-up requests to /v2/: each answer has its documented status and shape, or is an error in the provider's shape."""

from typing import Any

import pytest
import schemathesis

from pools.models import Cluster, Pool
from tests.panel.test_api_fuzzing import EXAMPLES, EXPECTED, answer_of, asked_of
from tests.pools.managed_api.conftest import InstantWorker
from tests.pools.managed_api.description import BY_KEY, as_openapi
from tests.pools.managed_api.schema import check

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_leaves")]


def fault_of(answer: Any, method: str, path: str) -> str:
    """Why the answer is not as described; empty where it is."""
    status, name = BY_KEY[method, path]
    if answer.status_code == status:
        if name:
            check(name, answer.json())
        return "" if name or not answer.content else "a body where none belongs"
    if answer.status_code < 400 or (answer.status_code >= 500 and answer.status_code not in EXPECTED):
        return f"status {answer.status_code}"
    check("error", answer.json())
    return ""


def test_every_answer_is_as_described(admin: Any, cluster: Cluster, pool: Pool, worker: InstantWorker) -> None:
    schema, broken, count = schemathesis.openapi.from_dict(as_openapi()), [], 0
    keys = {"id": str(cluster.pk), "name": pool.name}
    for operation in (result.ok() for result in schema.get_all_operations()):
        for number, case in enumerate(asked_of(operation, {}, EXAMPLES)):
            if number % 4:  # most meet something that is there
                case.path_parameters.update({name: keys[name] for name in keys if name in case.path_parameters})
            answer, count = answer_of(case, admin), count + 1
            if fault := fault_of(answer, operation.method.lower(), operation.path):
                broken.append((operation.method, case.formatted_path, fault, case.body))
    assert count >= len(BY_KEY)
    assert broken == []
