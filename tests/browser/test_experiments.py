"""Experiments as their users see them: a playbook added and started, arms that fill in, the verdict, the reports."""

import contextlib
import csv
import json
import re
import sqlite3
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import faults
from tests.browser.visiting import forget_pool, log_in, make_pool
from tests.installation import Installation

ENDED_MS = 120_000
ENOUGH_VALID = re.compile(r"\b[3-7] of 7 valid")
# two arms whose loads take a moment each, at a rate that leaves the processors to the tests beside it
SMALL = """\
name = "{name}"
title = "Connecting anew, directly and through a pool"
baseline = {{ endpoint = "direct" }}
metrics = ["tps", "latency_avg_ms"]
derived = ["gain_percent"]

[options]
builtin = "select-only"
connect = true
clients = 4
threads = 1
duration = 2
rate = 10

[[axes.endpoint]]
key = "direct"
label = "straight to the server"
endpoint = {{ kind = "direct" }}

[[axes.endpoint]]
key = "pool"
label = "pool of four"
endpoint = {{ kind = "pgbouncer", mode = "transaction", size = 4 }}

# four more than a verdict needs: others at work on the host may make a run suspect
[quick]
repeats = 7
dataset = {{ scale = 1 }}

[published_scale]
repeats = 7
dataset = {{ scale = 1 }}
"""


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    """A page of the admin, who is logged in."""
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def refused(visit: Callable[..., Page], installation: Installation) -> Page:
    """A page of the admin that may be answered with 400, which browsers report as an error of the page."""
    opened = visit()
    log_in(opened, installation)
    return opened


@pytest.fixture
def plain(visit: Callable[..., Page], installation: Installation) -> Page:
    """A page of the admin in a browser without JavaScript."""
    opened = visit(java_script_enabled=False)
    log_in(opened, installation)
    return opened


@pytest.fixture
def playbook(installation: Installation) -> Iterator[str]:
    """The small playbook, added already."""
    yield installation.api.post("playbooks/", {"toml": SMALL.format(name="small")})["name"]
    installation.api.call("DELETE", "playbooks/small/")


def add_playbook(page: Page, text: str) -> None:
    """Type a playbook into the form, the way there included."""
    page.goto("/experiments/")
    page.get_by_role("link", name="Add a playbook").click()
    page.get_by_label("Playbook (TOML)").fill(text)
    page.get_by_role("button", name="Save").click()


def test_a_playbook_is_started_watched_and_its_reports_are_taken_away(
    page: Page, installation: Installation, tmp_path: Path
) -> None:
    add_playbook(page, SMALL.format(name="anew"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Connecting anew, directly and through a pool")
    page.get_by_role("button", name="Start the experiment").click()
    expect(page).to_have_url(re.compile("/experiments/[0-9a-f-]{36}/$"))
    page.evaluate("window.notReloaded = true")
    expect(page.locator("#experiment-live")).to_contain_text("Measuring: 1 of 14 runs")
    expect(
        arm(page, "straight to the server").or_(arm(page, "pool of four")).filter(has_text="1 of 1 valid")
    ).to_be_visible()
    expect(page.get_by_text("it needs three valid ones")).to_be_visible()
    assert not has_ended(page)
    expect(page.get_by_role("link", name="Run again")).to_be_visible(timeout=ENDED_MS)
    expect(page.locator("#experiment-live")).to_contain_text("succeeded")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_text(ENOUGH_VALID)).to_have_count(2)
    assert page.evaluate("window.notReloaded") is True
    assert faults(page) == []
    verdict = page.locator(".experiment-claims").inner_text()
    begins = re.match(r"(Faster|Slower|No difference shown): pool of four: ×\d", verdict)
    assert begins, verdict
    expect(arm(page, "pool of four")).to_contain_text(begins[1].lower())
    check_reports(page, tmp_path, verdict)
    installation.api.call("DELETE", "playbooks/anew/")


def arm(page: Page, label: str) -> Any:
    """The row of an arm."""
    return page.locator("#experiment-live tbody tr").filter(has=page.get_by_role("rowheader", name=label))


def has_ended(page: Page) -> bool:
    """Whether the page shows no progress any more."""
    return page.locator("#experiment-live progress").count() == 0


def check_reports(page: Page, folder: Path, verdict: str) -> None:
    """Take each report away by its link, and open it."""
    files = {}
    for kind in ("HTML", "PDF", "CSV", "JSON"):
        with page.expect_download() as download:
            page.get_by_role("link", name=kind, exact=True).click()
        assert re.fullmatch(rf"pooldeck-experiment-\d+\.{kind.lower()}", download.value.suggested_filename)
        files[kind] = folder / download.value.suggested_filename
        download.value.save_as(files[kind])
    check_page(page, files["HTML"], verdict)
    assert {"Connecting anew, directly and through a pool", "Result"} <= titles_of(files["PDF"].read_bytes())
    with files["CSV"].open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert [(row["key"], row["baseline"]) for row in rows] == [("direct", ""), ("pool", "direct")]
    assert all(3 <= int(row["n_valid"]) <= 7 for row in rows)
    assert float(rows[1]["interval_low"]) <= float(rows[1]["ratio"]) <= float(rows[1]["interval_high"])
    found = json.loads(files["JSON"].read_text())
    assert (found["playbook"], found["state"], len(found["plan"])) == ("anew", "succeeded", 7)
    assert [len(one["runs"]) for one in found["arms"]] == [7, 7]
    assert found["conclusion"].startswith(verdict)
    assert found["toml"] == SMALL.format(name="anew")


def titles_of(pdf: bytes) -> set[str]:
    """Return the titles of a PDF and of its chapters, which are stored as words, unlike the text itself."""
    assert pdf.startswith(b"%PDF-")
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    texts = (zlib.decompressobj().decompress(stream) for stream in streams if stream.startswith(b"x"))
    return {title.decode() for text in texts for title in re.findall(rb"/Title \((.*?)\)", text)}


def check_page(page: Page, file: Path, verdict: str) -> None:
    """Open the report in a browser of its own: it asks for nothing but itself."""
    context = page.context.browser.new_context()  # type: ignore[union-attr]
    report = context.new_page()
    asked: list[str] = []
    report.on("request", lambda request: asked.append(request.url))
    report.goto(file.as_uri())
    expect(report.get_by_text(verdict)).to_be_visible()
    expect(report.locator("svg.is-wide")).to_be_visible()
    report.set_viewport_size({"width": 390, "height": 900})
    expect(report.locator("svg.is-narrow")).to_be_visible()
    expect(report.locator("svg.is-wide")).to_be_hidden()
    assert report.evaluate("document.querySelector('figure').scrollWidth") <= 390
    expect(report.get_by_role("row").filter(has_text="pool of four")).to_contain_text(ENOUGH_VALID)
    context.close()
    assert asked == [file.as_uri()]


@pytest.fixture
def swept(installation: Installation) -> Iterator[dict[str, Any]]:
    """A pool of three connections to advise on."""
    made = make_pool(installation, "advised", size=3)
    yield made
    forget_pool(installation, made["id"])


def test_a_size_is_asked_for_from_the_pools_page_and_applied(
    page: Page, installation: Installation, swept: dict[str, Any]
) -> None:
    page.goto(f"/pools/{swept['id']}/")
    page.get_by_role("link", name="What size should this pool be?").click()
    expect(page.get_by_role("button", name="Measure it")).to_be_visible()
    assert faults(page) == []
    page.get_by_label("Workload").select_option("select-only")
    page.get_by_label("Clients").fill("2")
    page.get_by_label("Scale of the tables").fill("1")
    page.get_by_label("Time budget, in minutes").fill("1")
    page.get_by_role("button", name="Measure it").click()
    expect(page.get_by_text("Nothing is measured yet.")).to_be_visible()
    shorten(installation, page.url.rstrip("/").rsplit("/", 1)[1])
    expect(page.get_by_text("This is the answer by now")).to_be_visible()
    assert not has_ended(page)
    expect(page.locator("#experiment-live").get_by_text("1 of 1 valid").first).to_be_visible()
    give = page.get_by_role("button", name=re.compile(r"Give advised size [12] and reserve 1"))
    expect(give).to_be_visible(timeout=ENDED_MS)
    size = re.findall(r"size (\d)", give.inner_text())[0]
    answer = page.locator(".experiment-answer")
    expect(answer).to_have_text(f"Use size {size} with a reserve of 1 for 2 clients.")
    expect(page.get_by_role("table", name="Throughput by pool size and clients")).to_contain_text("recommended")
    assert faults(page) == []
    give.click()
    expect(page.get_by_text(f"The pool gets size {size} with a reserve of 1")).to_be_visible()
    assert installation.api.get(f"pools/{swept['id']}/")["size"] == int(size)


def shorten(installation: Installation, experiment: str) -> None:
    """Let its runs last two seconds at a rate that is no burden, and its minute end with the first round."""
    with contextlib.closing(sqlite3.connect(installation.home / "pooldeck.sqlite3", timeout=30)) as panel, panel:
        columns = "overrides = ?, advice = json_set(advice, '$.minutes', 0)"
        values = (json.dumps({"duration": 2, "rate": 300}), uuid.UUID(experiment).hex)
        panel.execute(f"UPDATE benchmarks_experiment SET {columns} WHERE id = ?", values)


def test_without_javascript_one_is_started_and_cancelled_and_keeps_what_was_measured(
    plain: Page, playbook: str, installation: Installation
) -> None:
    plain.goto(f"/playbooks/{playbook}/")
    plain.get_by_role("button", name="Start the experiment").click()
    expect(plain.get_by_role("heading", name="Result")).to_be_visible()
    experiment = plain.url.rstrip("/").rsplit("/", 1)[1]
    wait_for_runs(installation, experiment, 1)
    plain.get_by_role("link", name="Reload for the figures by now").click()
    plain.get_by_role("button", name="Cancel").click()
    expect(plain.get_by_text("what was measured until now is kept")).to_be_visible()
    installation.api.wait(f"experiments/{experiment}/", "state", {"cancelled"}, 90)
    plain.goto(f"/experiments/{experiment}/")
    expect(plain.get_by_text("Cancelled: what was measured until then is kept")).to_be_visible()
    measured = plain.get_by_role("row").filter(has_text=re.compile("[1-3] of [1-3] valid"))
    expect(measured.first).to_be_visible()
    expect(plain.get_by_role("link", name="Run again")).to_be_visible()


def wait_for_runs(installation: Installation, experiment: str, count: int) -> None:
    """Until so many runs have ended."""
    deadline = time.monotonic() + 60
    while (found := installation.api.get(f"experiments/{experiment}/"))["progress"]["done"] < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def test_a_bad_playbook_is_refused_with_key_and_line_and_stays_as_it_was_typed(refused: Page) -> None:
    bad = (
        SMALL.format(name="bad")
        .replace("repeats = 7", "repeats = 0")
        .replace('endpoint = "direct"', 'place = "direct"')
    )
    add_playbook(refused, bad)
    line = bad.splitlines().index("repeats = 0") + 1
    expect(refused.get_by_text(f"line {line}, quick.repeats: 0 is less than the minimum of 1")).to_be_visible()
    assert refused.get_by_label("Playbook (TOML)").input_value() == bad
    refused.get_by_label("Playbook (TOML)").fill(bad.replace("repeats = 0", "repeats = 1"))
    refused.get_by_role("button", name="Save").click()
    expect(
        refused.get_by_text("line 3, baseline.place: there is no axis of that name: use one of endpoint")
    ).to_be_visible()


@pytest.fixture
def protected(installation: Installation) -> Iterator[str]:
    """The demo's cluster, protected for the time of a test."""
    (cluster,) = installation.api.get("clusters/")["results"]
    path = f"clusters/{cluster['id']}/"
    installation.api.call("PATCH", path, {"protected": True})
    yield cluster["name"]
    installation.api.call("PATCH", path, {"protected": False})


def test_a_protected_cluster_refuses_with_the_changes_and_nothing_is_lost(
    refused: Page, playbook: str, protected: str, installation: Installation
) -> None:
    refused.goto(f"/playbooks/{playbook}/")
    refused.get_by_label("Blocks").fill("4")
    refused.get_by_label("Size").select_option("published")
    refused.get_by_label("Name of the protected cluster").fill("another")
    refused.get_by_role("button", name="Start the experiment").click()
    alert = refused.get_by_role("alert")
    expect(alert).to_contain_text(f"cluster {protected} is protected")
    for change in ("A role and a database are created", "A pool of 4 connections is added", "up to 4 clients"):
        expect(alert).to_contain_text(change)
    expect(refused.get_by_label("Blocks")).to_have_value("4")
    expect(refused.get_by_label("Size")).to_have_value("published")
    expect(refused.get_by_label("Name of the protected cluster")).to_have_value("another")
    assert installation.api.get("experiments/?search=small&state=queued")["count"] == 0
