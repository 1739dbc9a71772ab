"""Why a server can't be reached is said to those who may register one; all others get one sentence for every reason.

Else the panel would scan ports for anybody with a login. Every page and every read of both APIs is asked, so that a new
one can't be forgotten.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.db.models import TextField
from django.test import Client
from rest_framework.test import APIClient

from benchmarks.models import Experiment, Run
from pools.clusters import connect, health_check
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.inventory import poolers
from pools.managed_api import pools as managed_pools
from pools.models import Cluster, Pool, Pooler
from pools.poolers.pgbouncer import console
from tests.callers import bearer, person
from tests.panel import every_record
from tests.panel.every_answer import pages, reads_of_the_api

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_leaves")]
AT = 'connection failed: connection to server at "127.0.0.1", port 1 failed: '
STATES = {  # libpq's messages
    "refused": f"{AT}Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?",
    "silent": "connection timeout expired",
    "not PostgreSQL": f"{AT}received invalid response to SSL negotiation: H",
    "wrong password": f'{AT}FATAL:  password authentication failed for user "postgres"',
}
REASONS = {"error", "reason", "state_reason", "settings_reason", "message"}  # columns that hold why something failed
LISTS = {Run: ("reasons",), Experiment: ("reasons", "notes")}
IDS = rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
VARYING = re.compile(IDS + rb'|<time.*?</time>|nonce="[^"]*"|csrf\w*" value="[^"]*"|"X-CSRFToken": *"[^"]*"|\d+')
Answers = dict[str, tuple[int, bytes]]


@pytest.fixture
def records() -> dict[str, Any]:
    """A record of each kind, with a login of the panel's own at each address."""
    return every_record.records(person("zquser"))


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What lets every login fail with the words of a state."""

    def switch(state: str) -> None:
        fault = psycopg.errors.ConnectionTimeout if state == "silent" else psycopg.OperationalError

        def refuse(*_args: Any, **_parameters: Any) -> None:
            raise fault(STATES[state])

        monkeypatch.setattr(psycopg, "connect", refuse)

    monkeypatch.setattr(managed_pools, "APPLIED_WITHIN_S", 0.1)  # there is no worker

    return switch


def record_everywhere() -> None:
    """Check all servers, and leave their reasons where an apply, a run, an event and an experiment leave them."""
    health_check.check_all()
    for pooler in Pooler.objects.filter(kind="pgbouncer"):
        poolers.check(pooler)
    cluster, pooler = Cluster.objects.get(name="zqcluster"), Pooler.objects.get(name="zqpooler")
    reasons = f"cluster: {reason(connect.connect, cluster)}; pooler: {reason(console.open, pooler)}"
    for model in apps.get_models():
        if model not in (Cluster, Pooler) and model._meta.app_label in ("pools", "benchmarks"):
            names = {one.name for one in model._meta.fields if isinstance(one, TextField)} & REASONS
            names -= {"error"} if hasattr(model, "checked_at") else set()
            if names:
                model._default_manager.update(**dict.fromkeys(names, reasons))
    for kept, lists in LISTS.items():
        kept._default_manager.update(**{name: [reasons] for name in lists})


def reason(opened: Callable[..., Any], record: Any) -> str:
    with pytest.raises((ClusterUnreachable, PoolerUnreachable)) as refused:
        opened(record)
    return str(refused.value)


def writes_of_the_api(caller: APIClient, records: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What `run` and `apply` may ask of a cluster and a pooler that do not answer.

    Not `logins/`, which logs in as the pool's own user: whose password is wrong, those learn who use the pool.
    """
    direct = {"cluster": str(records["cluster"]), "database": "zqdatabase"}
    run = {"engine": "pgbench", "options": {"clients": 1, "duration": 1}}
    new = {"name": "zqnew", "database": "zqdatabase", "user": "zqrole", "size": 1}
    new |= {"cluster": str(records["cluster"]), "pooler": str(records["pooler"])}
    pool, pooler = f"/api/v1/pools/{records['pool']}", f"/api/v1/poolers/{records['pooler']}"
    managed = {"name": "zqv2", "db": "zqdatabase", "mode": "session", "size": 1}
    for url, body in (
        ("/api/v1/runs/", run | {"target": direct}),
        ("/api/v1/runs/", run | {"target": {"pool": str(records["pool"])}}),
        ("/api/v1/runs/", run | {"target": {"external": str(records["external"])}}),
        ("/api/v1/experiments/", {"playbook": "reconnect", "cluster": str(records["cluster"]), "quick": True}),
        ("/api/v1/pools/", new),
        (f"{pool}/pause/", {}),
        (f"{pool}/mode-check/", {}),
        (f"{pooler}/apply/", {}),
        (f"/v2/databases/{records['cluster']}/pools", managed),
    ):
        yield f"POST {url} {json.dumps(body)[:80]}", caller.post(url, body)
        Pool.objects.filter(name__in=("zqnew", "zqv2")).delete()


def answers(*given: Iterator[tuple[str, Any]]) -> Answers:
    return {
        f"{number} {url}": (answer.status_code, VARYING.sub(b"", answer.getvalue()))
        for number, one in enumerate(given)
        for url, answer in one
    }


def different(found: dict[str, Answers]) -> list[str]:
    """Where the states tell apart, and the words from there."""
    first, *others = found.values()
    return [f"{url}: {parted(first[url], other[url])}" for url in first for other in others if first[url] != other[url]]


def parted(one: tuple[int, bytes], other: tuple[int, bytes]) -> str:
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one[1], other[1], strict=False)))
    return " / ".join(f"{status} {body[max(0, alike - 40) : alike + 120]!r}" for status, body in (one, other))


@pytest.mark.slow  # a faster one: tests/pools/clusters/test_login_errors.py
def test_no_reader_who_may_not_register_a_server_learns_why_it_does_not_answer(
    fail: Callable[[str], None], records: dict[str, Any]
) -> None:
    viewer, admin, found, told = Client(), Client(), {}, {}
    viewer.force_login(person("zqviewer", staff=False))
    admin.force_login(person("zqadmin"))
    reader, runner, applier = bearer("read"), bearer("read", "run"), bearer("read", "apply")
    for state in STATES:
        fail(state)
        record_everywhere()
        reads = pages(viewer, records), reads_of_the_api(reader, records)
        found[state] = answers(*reads, *(writes_of_the_api(one, records) for one in (runner, applier)))
        told[state] = answers(reads_of_the_api(bearer(), records))
    assert len(different(told)) > 20  # the same walk as an admin
    assert different(found) == [], "\n".join(different(found))
