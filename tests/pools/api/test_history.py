"""The API of what pools did, of events, and the stream of what they do."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient
from django.utils import timezone

from core.accounts.models import ApiToken
from pools.models import Pooler, PoolerKind, PoolMinute
from pools.monitoring import live_feed, sampler
from pools.monitoring.rates import FIGURES
from pools.poolers import KINDS
from pools.poolers.console_sample import ConsoleSample, Counters, PoolFigures
from tests.callers import anonymous, bearer, person, queries_of
from tests.pools.monitoring.records import a_minute, an_event


def test_history_has_every_figure_of_each_step(admin, pool):
    a_minute(pool, 1, cl_active=3, query_ms=None)
    answer = admin.get(f"/api/v1/pools/{pool.pk}/history/?range=day").json()
    (point,) = answer["points"]
    assert (answer["range"], answer["step_s"], point["looks"]) == ("day", 300, 6)
    assert point["cl_active"] == {"avg": 3, "max": 3}
    assert point["query_ms"] == {"avg": None, "max": None}
    assert point["at"].endswith("+00:00")


def test_history_of_a_pooler_is_of_all_its_pools(admin, pool):
    assert admin.get(f"/api/v1/poolers/{pool.pooler_id}/history/").json()["points"] == []


def test_history_of_a_pgpool_has_null_for_what_nobody_counts(admin, pool):
    Pooler.objects.filter(pk=pool.pooler_id).update(kind=PoolerKind.PGPOOL)
    a_minute(pool, 1, cl_active=3, cl_waiting=0)
    (point,) = admin.get(f"/api/v1/pools/{pool.pk}/history/").json()["points"]
    assert (point["cl_active"], point["cl_waiting"]) == ({"avg": 3, "max": 3}, {"avg": None, "max": None})


def test_an_unknown_range_is_refused_by_name(admin, pool):
    answer = admin.get(f"/api/v1/pools/{pool.pk}/history/?range=year")
    assert (answer.status_code, answer.json()) == (
        400,
        {"range": ["'year' is not one of quarter_hour, hour, six_hours, day, week"]},
    )


@pytest.mark.parametrize("noun", ["pools", "poolers"])
def test_history_asks_who_calls_and_for_what(admin, pool, noun):
    url = f"/api/v1/{noun}/{uuid.uuid4()}/history/"
    assert admin.get(url).status_code == 404
    assert admin.post(url).status_code == 405
    assert anonymous().get(url).status_code == 401
    assert bearer("run").get(url).status_code == 403


def test_history_costs_the_same_with_one_and_three_minutes(admin, pool):
    a_minute(pool, 1)
    once = queries_of(admin, f"/api/v1/pools/{pool.pk}/history/")
    a_minute(pool, 2)
    a_minute(pool, 3)
    assert PoolMinute.objects.count() == 3
    assert queries_of(admin, f"/api/v1/pools/{pool.pk}/history/") == once


def test_events_are_listed_filtered_and_acknowledged(admin, pool):
    event = an_event(pool)
    an_event(pool, closed_at=timezone.now(), kind="maxwait")
    an_event(pool, opened_at=None, kind="drift")
    rows = admin.get("/api/v1/events/?open=true").json()["results"]
    assert [(row["id"], row["kind"], row["subject_name"]) for row in rows] == [(str(event.pk), "waiting", pool.name)]
    assert admin.get("/api/v1/events/").json()["count"] == 2
    answer = admin.post(f"/api/v1/events/{event.pk}/acknowledge/")
    assert answer.status_code == 200
    assert answer.json()["acknowledged_by"]
    assert bearer("read").post(f"/api/v1/events/{event.pk}/acknowledge/").status_code == 403
    assert admin.delete(f"/api/v1/events/{event.pk}/").status_code == 405


def test_events_cost_the_same_with_one_and_three(admin, pool):
    an_event(pool)
    once = queries_of(admin, "/api/v1/events/")
    an_event(pool, kind="maxwait")
    an_event(pool, kind="drift")
    assert queries_of(admin, "/api/v1/events/") == once


@pytest.fixture
def console(monkeypatch):
    """A console whose pool `app` answers a hundred queries between two looks."""
    asked = []

    def sample(pooler):
        asked.append(pooler.pk)
        return ConsoleSample({"app": PoolFigures(cl_active=2)}, {"app": Counters(queries=100 * len(asked))})

    monkeypatch.setitem(vars(KINDS[PoolerKind.PGBOUNCER]), "sample", sample)
    monkeypatch.setattr(live_feed, "EVERY_S", 0.2)
    monkeypatch.setattr(sampler, "FRESH_S", 0.1)
    return asked


def follow(url: str, count: int, watchers: int = 1) -> list[list[dict[str, object]]]:
    """The first figures that each watcher is told."""
    headers = {"authorization": f"Bearer {ApiToken.objects.issue(person(), 'test', ['read'])}"}

    async def read() -> list[list[dict[str, object]]]:
        answers = [await AsyncClient().get(url, headers=headers) for _ in range(watchers)]
        assert [answer.status_code for answer in answers] == [200] * watchers
        described: list[list[dict[str, object]]] = [[] for _ in answers]
        streams = [aiter(answer.streaming_content) for answer in answers]
        while len(described[0]) < count:
            for stream, figures in zip(streams, described, strict=True):
                text = (await anext(stream)).decode()
                if text.startswith("event: figures"):
                    figures.append(json.loads(text.split("data: ")[1]))
        for stream in streams:
            await stream.aclose()
        return described

    return async_to_sync(read)()


@pytest.mark.django_db(transaction=True)
def test_a_pool_is_followed_with_its_rates(pool, console):
    first, second = follow(f"/api/v1/pools/{pool.pk}/live/", 2)[0]
    assert (first["cl_active"], first["error"], first["queries_per_s"]) == (2, "", None)
    assert second["queries_per_s"] == pytest.approx(100 / (second["t"] - first["t"]), rel=0.01)
    assert live_feed._feeds == {}, "nobody looks once nobody follows"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("noun", ["pools", "poolers"])
def test_a_pgpool_is_followed_with_null_for_what_nobody_counts(pool, console, monkeypatch, noun):
    Pooler.objects.filter(pk=pool.pooler_id).update(kind=PoolerKind.PGPOOL)
    monkeypatch.setitem(vars(KINDS[PoolerKind.PGPOOL]), "sample", KINDS[PoolerKind.PGBOUNCER].sample)
    (described,) = follow(f"/api/v1/{noun}/{pool.pk if noun == 'pools' else pool.pooler_id}/live/", 1)[0]
    known = {name for name in FIGURES if described[name] is not None}
    assert (described["cl_active"], known) == (2, {"cl_active", "sv_active", "sv_idle"})


@pytest.mark.django_db(transaction=True)
def test_many_who_follow_one_pooler_cost_one_look(pool, console):
    described = follow(f"/api/v1/poolers/{pool.pooler_id}/live/", 3, watchers=5)
    assert len({figures["t"] for one in described for figures in one}) <= 4
    assert len(console) <= 5


@pytest.mark.django_db(transaction=True)
def test_a_console_that_is_down_is_told_as_an_error(pool):
    (figures,) = follow(f"/api/v1/pools/{pool.pk}/live/", 1)[0]
    assert set(figures) == {"t", "error"}
    assert figures["error"] == "the panel can't reach pooler front; an admin sees the reason"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("noun", ["pools", "poolers"])
def test_following_asks_who_calls(pool, noun):
    assert async_to_sync(AsyncClient().get)(f"/api/v1/{noun}/{pool.pk}/live/").status_code == 401
    header = {"authorization": f"Bearer {ApiToken.objects.issue(person(), 'test', ['read'])}"}
    assert async_to_sync(AsyncClient().get)(f"/api/v1/{noun}/{uuid.uuid4()}/live/", headers=header).status_code == 404


def test_history_of_any_window_is_answered_with_its_ends(admin, pool):
    minute = a_minute(pool, 90, cl_active=3).minute
    since = datetime.fromtimestamp(minute * 60, UTC)
    query = urlencode({"since": since.isoformat(), "until": (since + timedelta(minutes=5)).isoformat()})
    answer = admin.get(f"/api/v1/pools/{pool.pk}/history/?{query}").json()
    assert (answer["range"], answer["step_s"], len(answer["points"])) == ("", 60, 1)
    assert datetime.fromisoformat(answer["since"]) == since
    assert datetime.fromisoformat(answer["until"]) == since + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("since=2026-03-05T16:00:00Z", "until"),
        ("since=2026-03-05T16:00:00Z&until=2026-03-05T15:00:00Z", "until"),
        ("since=2020-03-05T16:00:00Z&until=2026-03-05T15:00:00Z", "until"),
        ("since=yesterday&until=2026-03-05T15:00:00Z", "since"),
    ],
)
def test_a_window_that_no_chart_can_show_is_refused_by_its_field(admin, pool, query, field):
    answer = admin.get(f"/api/v1/pools/{pool.pk}/history/?{query}")
    assert (answer.status_code, list(answer.json())) == (400, [field])
