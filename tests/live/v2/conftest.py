"""The panel's own web, worker and beat before a real PostgreSQL and PgBouncer, and a client of /v2/ over HTTPS."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User

from core.accounts.models import ApiToken
from panel.quickstart import tls
from pools.clusters import health_check
from pools.models import Cluster, Pooler
from tests.live.panel_programs import TestBeat, TestWeb, TestWorker
from tests.pools.managed_api.schema import check

LONGEST_ANSWER_S = 60


@dataclass(frozen=True)
class Answer:
    """Status, parsed body (None where it is empty) and headers of one answer."""

    status: int
    body: Any
    headers: dict[str, str]


class Managed:
    """/v2/ with a token: whatever the status is, the answer is returned, and an error's shape is checked."""

    def __init__(self, web: TestWeb, token: str) -> None:
        self.url, self.context, self.token = web.url, web.client_context, token

    def send(self, method: str, path: str, body: Any = None) -> Answer:
        request = urllib.request.Request(
            f"{self.url}/v2/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=LONGEST_ANSWER_S, context=self.context) as answer:
                status, text, headers = answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            status, text, headers = error.code, error.read(), dict(error.headers)
            check("error", json.loads(text))
        return Answer(status, json.loads(text) if text else None, {name.lower(): one for name, one in headers.items()})

    def get(self, path: str) -> Any:
        """GET that must answer 200."""
        answer = self.send("GET", path)
        assert answer.status == 200, answer
        return answer.body


@contextmanager
def serving(redis_url: str, homes: pytest.TempPathFactory) -> Iterator[TestWeb]:
    """Run a web process that serves HTTPS, and beat, which asks again for what a worker missed."""
    with (
        TestBeat(homes.mktemp("beat"), redis_url),
        TestWeb(homes.mktemp("web"), redis_url, tls.ensure(homes.mktemp("tls"))) as web,
    ):
        yield web


@pytest.fixture(scope="package")
def lasting_panel(lasting_worker: TestWorker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestWeb]:
    """The web process for all tests of this folder; `lasting_worker` applies."""
    with serving(lasting_worker.redis_url, tmp_path_factory) as web:
        yield web


@pytest.fixture
def panel(lasting_panel: TestWeb, worker: TestWorker) -> Iterator[TestWeb]:
    """The web process, and a worker that is ready; its log is shown when the test fails."""
    begun = len(lasting_panel.log)
    yield lasting_panel
    print(lasting_panel.log[begun:])


@pytest.fixture
def managed(panel: TestWeb) -> Managed:
    """A client with every permission."""
    user = User.objects.create_user("terraform", is_staff=True)
    return Managed(panel, ApiToken.objects.issue(user, "v2", ["admin"]))


@pytest.fixture
def database(managed: Managed, cluster: Cluster, pooler: Pooler) -> str:
    """The path of the live cluster, checked once, whose pools go to the live PgBouncer."""
    health_check.check_cluster(cluster)
    return f"databases/{cluster.pk}"


@pytest.fixture
def fresh_name() -> str:
    """A name that no other test has left on the server."""
    return f"v2_{os.getpid()}_{time.monotonic_ns() % 1_000_000}"
