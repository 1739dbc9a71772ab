"""From a pair to its schedule, through its nights with a moved clock, to the message and the page that it leads to."""

import json
import subprocess
import sys
import threading
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Web
from tests.live.pools.monitoring.test_notifications import Receiver

PAIR = """
import django; django.setup()
import sys
from uuid import uuid4
from tests.benchmarks.records import a_finished_run
from tests.pools.records import a_cluster, a_pool
pool, group = a_pool(name="nightly", cluster=a_cluster(name="nights", protected=False)), uuid4()
a_finished_run(0, cluster=pool.cluster, group=group)
a_finished_run(0, pk=sys.argv[1], cluster=pool.cluster, pool=pool, pooled=True, group=group)
"""
NIGHTS = """
import django; django.setup()
from datetime import UTC, datetime, timedelta
from uuid import uuid4
from benchmarks.models import Schedule
from benchmarks.schedules import notices, regressions
from tests.benchmarks.records import a_finished_run
schedule = Schedule.objects.get(name="orders, each night")
run, began = schedule.run, datetime(2026, 11, 1, 2, 15, tzinfo=UTC)
for at, ratio in enumerate((2.0, 2.02, 1.98, 2.01, 1.99, 2.0, 2.02, 1.98, 1.6, 1.62, 1.58, 1.6)):
    group, due_at = uuid4(), began + timedelta(days=at)
    direct = a_finished_run(0, cluster=run.cluster, group=group, summary={"tps": 1000 + at % 3})
    a_finished_run(0, cluster=run.cluster, pool=run.pool, pooled=True, group=group, summary={"tps": 1000 * ratio})
    schedule.starts.create(due_at=due_at, claimed_at=due_at, state="started", run=direct)
    regressions.judge_ended_nights()
notices.send_due()
"""


def _python(web: Web, script: str, *arguments: str, **environment: str) -> None:
    """Run a program in the panel's environment, as its worker would."""
    command = [sys.executable, "-c", script, *arguments]
    subprocess.run(command, cwd=ROOT, env=web.environment | environment, check=True, timeout=120)


def test_a_nightly_pair_that_falls_is_told_and_the_message_leads_to_its_trend(page: Page, web: Web) -> None:
    pooled = str(uuid4())
    _python(web, PAIR, pooled)
    page.goto(f"{web.url}/runs/{pooled}/")
    page.get_by_role("link", name="Schedule", exact=True).first.click()
    page.get_by_label("Name").fill("orders, each night")
    page.get_by_label("As a pair: directly and through the pooler").check()
    expect(page.get_by_label("Tell of a change for the worse")).to_be_checked()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("a pair on")).to_be_visible()
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever)
        thread.start()
        _python(web, NIGHTS, POOLDECK_WEBHOOK_URL=receiver.url, POOLDECK_PUBLIC_URL=web.url)
        receiver.shutdown()
        thread.join()
    ((_path, _headers, body),) = receiver.got
    told = {one["title"]: one for one in json.loads(body)["events"]}
    assert set(told) == {
        "orders, each night: the throughput is ×0.80",
        "orders, each night: the ratio of the pair is ×0.80",
    }
    message = told["orders, each night: the ratio of the pair is ×0.80"]
    page.goto(message["url"])
    # The interval has become narrower by the nights since then.
    expect(page.get_by_text(message["message"].partition(" (")[0]).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
