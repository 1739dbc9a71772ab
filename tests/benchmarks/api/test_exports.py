"""A run to take away."""

import json
import re
import uuid

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from benchmarks.analysis.latency import store
from benchmarks.models import Observation, RunOutput, Sample
from benchmarks.results.export import csv
from core.accounts.models import ApiToken
from tests.benchmarks.api.conftest import make_run
from tests.callers import anonymous, bearer, person

pytestmark = pytest.mark.django_db
URL = "/api/v1/runs/"


def export(caller, run, kind):
    answer = caller.get(f"{URL}{run.pk}/export/", {"as": kind})
    return answer, b"".join(answer.streaming_content).decode() if answer.streaming else answer.content.decode()


def test_samples_as_csv(runner, run):
    answer, text = export(runner, run, "csv")
    assert answer["Content-Disposition"] == f'attachment; filename="pooldeck-run-{run.number}.csv"'
    lines = text.splitlines()
    assert lines[0].startswith("t,tps,latency_ms,stddev_ms,failed")
    assert lines[1].startswith("1.0,101.0,1.5,0.1,0,,")
    assert len(lines) == 4


def test_all_that_is_known_in_one_document(runner, run):
    Observation.objects.create(run=run, attempt=1, seq=9, t=1.0, kind="server", figures={"commits": 3})
    run.command, run.evidence = ["pgbench", "-c", "2"], {"server": {"version": "PostgreSQL 15.18"}}
    run.thresholds, run.summary = [{"metric": "tps", "at_least": 10.0}], {"tps": 99.5}
    run.save()
    answer, text = export(runner, run, "json")
    found = json.loads(text)
    assert answer["Content-Type"] == "application/json"
    described = runner.get(f"{URL}{run.pk}/evidence/")
    assert (described["Content-Type"], described.get("Content-Disposition")) == ("application/json", None)
    assert b"".join(described.streaming_content).decode() == text
    assert (found["format"], found["run"]["command"]) == ("pooldeck run 1", ["pgbench", "-c", "2"])
    assert [one["tps"] for one in found["samples"]] == [101.0, 102.0, 103.0]
    assert found["looks"] == [{"kind": "server", "t": 1.0, "commits": 3}]
    assert found["result"]["thresholds"] == [{"metric": "tps", "at_least": 10.0, "value": 99.5, "passed": True}]
    assert found["output"]["stdout"] == "tps = 101.5"
    assert found["surroundings"]["server"]["version"] == "PostgreSQL 15.18"


def test_the_document_holds_the_parts_and_what_there_is_none_of(runner, cluster):
    run = make_run(cluster)
    for name in ("east", "west"):
        make_run(cluster, parent=run, generator=name, samples=1)
    found = json.loads(export(runner, run, "json")[1])
    assert [(part["run"]["generator"], len(part["samples"])) for part in found["parts"]] == [("east", 1), ("west", 1)]
    names = ("samples", "pool_samples", "looks", "latency_histogram", "output")
    assert [found[name] for name in names] == [[], [], [], None, None]


def test_a_long_run_is_told_in_order_however_many_blocks_it_takes(runner, run, monkeypatch):
    monkeypatch.setattr(csv, "BLOCK", 2)
    for seq in (7, 5, 6):
        Sample.objects.create(run=run, attempt=2, seq=seq, t=float(seq), tps=200.0 + seq)
    wanted = [101.0, 102.0, 103.0, 205.0, 206.0, 207.0]
    assert [one["tps"] for one in json.loads(export(runner, run, "json")[1])["samples"]] == wanted
    assert [float(line.split(",")[1]) for line in export(runner, run, "csv")[1].splitlines()[1:]] == wanted


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["csv", "json", "html", "log"])
def test_a_file_is_sent_as_it_is_made(run, monkeypatch, kind):
    monkeypatch.setattr(csv, "BLOCK", 2)
    token = ApiToken.objects.issue(person(), "test", ["read"])
    headers = {"authorization": f"Bearer {token}"}

    async def read():
        answer = await AsyncClient().get(f"{URL}{run.pk}/export/", {"as": kind}, headers=headers)
        return answer.is_async, [piece async for piece in answer.streaming_content]

    is_async, pieces = async_to_sync(read)()
    assert is_async  # else Django gathers all of it before it sends any
    assert b"".join(pieces).decode() == export(bearer("read"), run, kind)[1]
    assert (len(pieces) > 1) == (kind != "html")


def test_the_page_loads_nothing_and_believes_nobody(runner, run):
    run.name, run.note = "<script>alert(1)</script>", "<img src=x onerror=alert(1)>"
    run.save(update_fields=["name", "note"])
    answer, text = export(runner, run, "html")
    assert answer["Content-Type"].startswith("text/html")
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"<[^>]*\b(?:src|href)=|@import|url\(", text)
    assert text.count("<svg") == 2  # throughput and latency
    assert "default-src 'none'" in text


def test_the_page_has_what_happened_meanwhile_the_latencies_and_each_generator(runner, run, cluster):
    for t in (1.0, 2.0):
        waits = {"waits": {"IO:DataFileRead": 3, "CPU": 1}, "commits_per_s": 50.0}
        for seq, (kind, figures) in enumerate((("server", waits), ("generator", {"cpu_percent": 12.0})), int(10 * t)):
            Observation.objects.create(run=run, attempt=1, seq=seq, t=t, kind=kind, figures=figures)
    store.keep_printed(run, [(1.0, 90), (20.0, 10)])
    make_run(cluster, parent=run, generator="east", command=["pgbench", "-c 3"], summary={"tps": 812.5})
    _, text = export(runner, run, "html")
    for words in ("Wait events, sessions", "IO:DataFileRead", "Transactions on the server", "Generator: processors"):
        assert words in text
    assert "Server&#x27;s host" not in text  # nothing was seen of it
    assert "From 100 logged transactions" in text
    assert "<td>east</td>" in text
    assert "<dt>Command on east</dt><dd><code>pgbench &#x27;-c 3&#x27;</code></dd>" in text
    assert text.count("<svg") == 2 + 3 + 1


def test_what_was_printed(runner, run):
    assert export(runner, run, "log")[1] == "progress: 1.0 stps = 101.5"


def test_what_was_printed_on_each_generator(runner, run, cluster):
    for name in ("east", "west"):
        part = make_run(cluster, parent=run, generator=name)
        RunOutput.objects.create(run=part, stdout=f"tps of {name}\n")
    numbers = list(run.parts.order_by("number").values_list("number", flat=True))
    assert export(runner, run, "log")[1] == (
        "progress: 1.0 stps = 101.5"
        f"\n--- generator east, run {numbers[0]}\ntps of east\n\n--- generator west, run {numbers[1]}\ntps of west\n"
    )


def test_another_kind_is_refused_by_name(runner, run):
    answer, text = export(runner, run, "pdf")
    assert (answer.status_code, json.loads(text)) == (
        400,
        {"as": ["'pdf' is not an export format: choose one of csv, json, html, log"]},
    )


def test_who_may_take_it(run):
    assert export(anonymous(), run, "csv")[0].status_code == 401
    assert export(bearer("read"), run, "csv")[0].status_code == 200
    assert bearer("read").post(f"{URL}{run.pk}/export/").status_code == 403
    assert bearer("read").get(f"{URL}{uuid.uuid4()}/evidence/").status_code == 404
