"""The event stream of a run: who may watch, what the database tells without Redis, and how it resumes."""

import asyncio
import json
import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.utils import timezone

from benchmarks.api import events
from benchmarks.models import PoolSample, Run, Sample, Status, Validity
from core.accounts import stream_reviews
from core.accounts.models import ApiToken
from core.lib import draining
from panel.quickstart.ports import free_port
from tests.callers import person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_redis(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"


@pytest.fixture
def finished() -> Run:
    """A run of two samples and a look at the pool between them."""
    run = Run.objects.enqueue(name="watched")
    run = Run.objects.claim(str(run.pk), "local")
    Sample.objects.create(run=run, attempt=1, seq=3, t=1.0, tps=100.5, latency_ms=2.5)
    PoolSample.objects.create(
        run=run, attempt=1, seq=4, t=1.5, cl_active=2, cl_waiting=1, sv_active=1, sv_idle=0, maxwait_ms=0.5
    )
    Sample.objects.create(run=run, attempt=1, seq=5, t=2.0, tps=None, latency_ms=None)
    run.finish(Status.FAILED, error="it broke", validity=Validity.INCOMPLETE, reasons=["it broke"])
    return run


def url_of(run: Run) -> str:
    return f"/api/v1/runs/{run.pk}/events/"


def bearer_header(*scopes: str, user: User | None = None) -> dict[str, str]:
    return {"authorization": f"Bearer {ApiToken.objects.issue(user or person(), 'test', list(scopes))}"}


def watched(
    run: Run, headers: dict[str, str], query: str = "", client: AsyncClient | None = None
) -> tuple[Any, list[tuple[str, str, dict[str, Any]]]]:
    """The response and its events as (id, name, payload)."""

    async def read() -> tuple[Any, str]:
        response = await (client or AsyncClient()).get(url_of(run) + query, headers=headers)
        chunks = [chunk async for chunk in response.streaming_content] if response.streaming else []
        return response, b"".join(chunks).decode()

    response, text = async_to_sync(read)()
    return response, [parsed(block) for block in text.split("\n\n") if block.startswith("id:")]


def parsed(block: str) -> tuple[str, str, dict[str, Any]]:
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    return fields["id"], fields["event"], json.loads(fields["data"])


def test_a_finished_run_is_told_whole_from_the_database(finished):
    response, seen = watched(finished, bearer_header("read"))
    assert (response.status_code, response["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert (response["Cache-Control"], response["X-Accel-Buffering"]) == ("no-store", "no")
    assert [(id_, name) for id_, name, _ in seen] == [
        ("0-0", "state"),
        ("1-3", "sample"),
        ("1-4", "pool"),
        ("1-5", "sample"),
        ("1-2147483647", "end"),
    ]
    no_counts = {"lag_ms": None, "skipped": None, "retried": None, "retries": None}
    no_counts |= {"latency_p50_ms": None, "latency_p95_ms": None, "latency_p99_ms": None}
    assert seen[1][2] == {"t": 1.0, "tps": 100.5, "latency_ms": 2.5, "stddev_ms": None, "failed": 0, **no_counts}
    assert seen[2][2] == {"t": 1.5, "cl_active": 2, "cl_waiting": 1, "sv_active": 1, "sv_idle": 0, "maxwait_ms": 0.5}
    end = {"status": "failed", "validity": "incomplete", "reasons": ["it broke"], "error": "it broke"}
    assert seen[-1][2] == end


@pytest.mark.parametrize("after", ["header", "query"])
def test_a_watcher_who_comes_back_gets_only_what_it_lacks(finished, after):
    headers = bearer_header("read") | ({"last-event-id": "1-4"} if after == "header" else {})
    _, seen = watched(finished, headers, "" if after == "header" else "?after=1-4")
    assert [(id_, name) for id_, name, _ in seen] == [("1-4", "state"), ("1-5", "sample"), ("1-2147483647", "end")]


def test_who_has_seen_the_end_is_told_not_to_come_back(finished):
    response, seen = watched(finished, bearer_header("read"), "?after=1-2147483647")
    assert (response.status_code, seen) == (204, [])


@pytest.mark.parametrize("after", ["nonsense", "1", "-1--1", "9" * 50 + "-1", "1-x", "²-1"])
def test_an_id_that_is_none_means_the_beginning(finished, after):
    assert len(watched(finished, bearer_header("read"), f"?after={after}")[1]) == 5


def test_a_logged_in_browser_may_watch(finished):
    browser = AsyncClient()
    browser.force_login(person())
    response, seen = watched(finished, {"accept": "text/event-stream"}, client=browser)
    assert (response.status_code, len(seen)) == (200, 5)


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"authorization": "Bearer wrong"}, 401), ({"accept": "text/event-stream"}, 401)],
)
def test_a_stranger_may_not_watch(finished, headers, status):
    response, _ = watched(finished, headers)
    assert (response.status_code, response["Content-Type"]) == (status, "application/json")


def test_a_token_without_the_scope_may_not_watch(finished):
    assert watched(finished, bearer_header("apply"))[0].status_code == 403


def test_an_unknown_run_is_not_found(finished):
    finished.pk = uuid.uuid4()
    assert watched(finished, bearer_header("read"))[0].status_code == 404


def test_events_can_only_be_read(finished):
    response = async_to_sync(AsyncClient().post)(url_of(finished), headers=bearer_header("admin"))
    assert response.status_code == 405


def test_a_watcher_whose_token_is_revoked_is_sent_away_with_the_next_heartbeat(monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.3)
    run, headers = Run.objects.enqueue(), bearer_header("read")

    async def read() -> list[str]:
        response = await AsyncClient().get(url_of(run), headers=headers)
        chunks = []
        async for chunk in response.streaming_content:
            chunks.append(chunk.decode())
            if len(chunks) == 3:
                await ApiToken.objects.aupdate(revoked_at=timezone.now())
        return chunks

    first, state, beat, *more = async_to_sync(read)()
    assert first == "retry: 1000\n\n"
    assert parsed(state.strip())[2]["status"] == "queued"
    assert beat == ": still here\n\n" + state
    assert len(more) <= 1


@pytest.mark.parametrize("ending", ["revoked_at", "expires_at", "inactive", "logged out"])
def test_a_watcher_whose_login_ends_is_sent_away_before_any_heartbeat(ending, monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_S", 3600)
    run, user = Run.objects.enqueue(), person()
    client = AsyncClient()
    if ending == "logged out":
        client.force_login(user)
    headers = {} if ending == "logged out" else bearer_header("read", user=user)

    async def end() -> None:
        if ending == "inactive":
            await User.objects.filter(pk=user.pk).aupdate(is_active=False)
        elif ending == "logged out":
            await client.alogout()
        else:
            await ApiToken.objects.aupdate(**{ending: timezone.now()})

    async def read() -> list[str]:
        response = await client.get(url_of(run), headers=headers)
        chunks = []
        async with asyncio.timeout(60):
            async for chunk in response.streaming_content:
                chunks.append(chunk.decode())
                if len(chunks) == 2:
                    await end()
        return chunks

    first, state = async_to_sync(read)()
    assert (first, parsed(state.strip())[2]["status"]) == ("retry: 1000\n\n", "queued")


def test_beyond_the_cap_a_watcher_is_told_when_to_come_back_and_finds_room_later(settings):
    settings.STREAMS = 4
    run, one, other = Run.objects.enqueue(), bearer_header("read"), bearer_header("read")

    async def watch() -> tuple[list[Any], int]:
        client = AsyncClient()
        answers = [await client.get(url_of(run), headers=headers) for headers in (one, one, one, other, other, other)]
        for answer in answers:
            await sync_to_async(answer.close)()
        again = await client.get(url_of(run), headers=one)
        await sync_to_async(again.close)()
        return answers, again.status_code

    answers, again = async_to_sync(watch)()
    refused = answers[-1]
    assert ([answer.status_code for answer in answers], again) == ([200, 200, 503, 200, 200, 503], 200)
    assert refused["Retry-After"] == "5"
    assert "try again in 5 s" in refused.json()["detail"]
    assert stream_reviews._open == {}


def test_a_process_that_was_asked_to_end_opens_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "has_begun", lambda: True)
    run, header = Run.objects.enqueue(), bearer_header("read")

    async def ask() -> Any:
        return await AsyncClient().get(url_of(run), headers=header)

    answer = async_to_sync(ask)()
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json() == {"detail": "this process ends: open it again in 5 s"}
