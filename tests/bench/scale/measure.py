"""The rows of the table: what each page and list costs."""

import logging
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from unittest import mock
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.backends.utils import CursorWrapper
from django.test import Client

from benchmarks.models import Run, Status
from core.accounts.access import Access
from pools.models import Cluster, Pool, Pooler
from pools.monitoring import sampler
from tests.bench.scale import consoles, seeding

HOST = "localhost"
Row = dict[str, float]


@dataclass(frozen=True)
class Page:
    """A row of the table: a path, and what is done before each request of it."""

    name: str
    path: str
    before: Callable[[], object] = lambda: None


def rows(caller: str, only: str, repeats: int) -> dict[str, Row]:
    """Return the figures of each page by its name, asked for by this account."""
    logging.disable(logging.WARNING)
    user = User.objects.get(username=caller)
    client = Client(SERVER_NAME=HOST)
    client.force_login(user)
    pages = [page for page in _pages(Access(user)) if only in page.name]
    refused = [page.name for page in pages if client.get(page.path).status_code == 403]  # what takes another role
    found = {page.name: _cost(client, page, repeats) for page in pages if page.name not in refused}
    return found | {name: row for name, row in _scrapes(client, repeats) if only in name}


def show(found: Mapping[str, Row], before: Mapping[str, Row]) -> dict[str, Row]:
    """Print the table, with the figures of another time beside it where there are some, and return the figures."""
    print("| page | wall ms | processor ms | queries | KB |\n|---|---:|---:|---:|---:|")
    for name, row in found.items():
        old = before.get(name, {})
        cells = [_cell(row, old, key) for key in ("wall_ms", "processor_ms", "queries", "kb")]
        print(f"| {name} | {' | '.join(cells)} |")
    return dict(found)


def _cell(row: Row, old: Row, key: str) -> str:
    return f"{old[key]:.0f} → {row[key]:.0f}" if key in old else f"{row[key]:.0f}"


def _cost(client: Client, page: Page, repeats: int) -> Row:
    page.before()
    with _counted() as queries:
        answer = client.get(page.path)
    if answer.status_code != 200:
        raise SystemExit(f"{page.name}: {page.path} answers {answer.status_code}")
    walls, processors = [], []
    for _nth in range(repeats):
        page.before()
        wall, processor = time.perf_counter(), time.process_time()
        client.get(page.path)
        processors.append(time.process_time() - processor)
        walls.append(time.perf_counter() - wall)
    return {
        "wall_ms": 1000 * statistics.median(walls),
        "processor_ms": 1000 * statistics.median(processors),
        "queries": next(queries),
        "kb": len(answer.content) / 1000,
    }


@contextmanager
def _counted() -> Iterator[Iterator[int]]:
    """Yield a counter of the queries of all threads: a request is served by several, each with its connection."""
    counter, execute = count(), CursorWrapper.execute

    def counting(cursor: CursorWrapper, *words: object, **named: object) -> object:
        next(counter)
        return execute(cursor, *words, **named)  # type: ignore[arg-type]  # as they came

    with mock.patch.object(CursorWrapper, "execute", counting):
        yield counter


def _pages(access: Access) -> list[Page]:
    clusters, pools, runs = (access.visible(model.objects.all()) for model in (Cluster, Pool, Run))
    pooler = access.visible(Pooler.objects.all())[7]
    cluster, pool, run = clusters[7], pools.filter(pooler=pooler).first(), runs.filter(status=Status.SUCCEEDED)[7]
    last = {"pools": _last(pools.count(), 50), "runs": _last(runs.count(), 25), "clusters": _last(clusters.count(), 25)}
    pages = [
        Page("dashboard", "/"),
        *_lists("pools", "/pools/", {"q": "orders"}, {"pooler": pooler.name}, {"cluster": cluster.name}),
        *_lists("runs", "/runs/", {"q": "orders"}, {"q": "99000"}, {"status": "failed"}, {"target": pool.pk}),
        *_lists("clusters", "/clusters/", {"q": "orders"}),
        *_lists("poolers", "/poolers/", {"q": "01"}),
        Page("entries", "/entries/"),
        Page("generators", "/generators/"),
        Page("datasets", "/datasets/"),
        Page("events", "/events/"),
        Page("audit", "/audit/"),
        Page("new run", "/runs/new/"),
        Page("new run of a pool", f"/runs/new/?pool={pool.pk}"),
        Page("new pool", "/pools/new/"),
        Page("new dataset", "/datasets/new/"),
        Page("new external endpoint", "/external-endpoints/new/"),
        Page("new script", "/scripts/new/"),
        Page("a playbook", "/playbooks/burst/"),
        Page("settings proposal", "/settings-profiles/propose/"),
        Page("shelf", "/shelf/"),
        Page("tokens", "/tokens/"),
        Page("a cluster", f"/clusters/{cluster.pk}/"),
        Page("a pooler", f"/poolers/{pooler.pk}/"),
        Page("a pool", f"/pools/{pool.pk}/"),
        Page("a run", f"/runs/{run.pk}/"),
        *_apis(last, pool, run),
    ]
    if runs.filter(pk=seeding.day_of_samples()).exists():
        pages.append(Page("a run of a day", f"/runs/{seeding.day_of_samples()}/"))
    return pages


def _last(count: int, size: int) -> int:
    return -(-count // size)


def _lists(name: str, path: str, *filters: Mapping[str, object]) -> list[Page]:
    """Return the first page of a list, a late one (the panel shows the last for any number beyond), and filters."""
    filtered = [Page(f"{name} by {urlencode(one)[:12]}", f"{path}?{urlencode(one)}") for one in filters]
    return [Page(name, path), Page(f"{name}, last page", f"{path}?page=99999"), *filtered]


def _apis(last: Mapping[str, int], pool: Pool, run: Run) -> list[Page]:
    pages = []
    for name in ("clusters", "pools", "runs"):
        path = f"/api/v1/{name}/"
        pages += [Page(f"API {name}, {size}", f"{path}?page_size={size}") for size in (50, 200)]
        size = {"pools": 50, "runs": 25, "clusters": 25}[name]
        pages.append(Page(f"API {name}, last {size}", f"{path}?page_size={size}&page={last[name]}"))
        pages.append(Page(f"API {name}, search", f"{path}?page_size=50&search=orders"))
    return [
        *pages,
        Page("API runs, failed", "/api/v1/runs/?page_size=50&status=failed"),
        Page("API poolers, 200", "/api/v1/poolers/?page_size=200"),
        Page("API one pool", f"/api/v1/pools/{pool.pk}/"),
        Page("API one run", f"/api/v1/runs/{run.pk}/"),
    ]


def _scrapes(client: Client, repeats: int) -> list[tuple[str, Row]]:
    """Return what /metrics costs while consoles hang, and with an answer of each pooler that a worker keeps."""
    found = []
    with consoles.silent():
        found.append(("metrics, silent consoles", _cost(client, Page("metrics", "/metrics"), min(repeats, 3))))
    consoles.keep_answers()
    page = Page("metrics, 10,000 pools", "/metrics", sampler._cache.clear)
    found.append((page.name, _cost(client, page, repeats)))
    return found
