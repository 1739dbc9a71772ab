"""Refused logins counted in a log of this host, what is said of those that can't be, and their event."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from pools import tasks
from pools.models import Event, EventKind, Pooler
from pools.monitoring import alerting, metric_values, notifications, redis_store, refused_logins, thresholds
from pools.monitoring.hysteresis import Rule
from pools.monitoring.redis_store import SharingDown
from pools.monitoring.refused_logins import Refusals
from pools.poolers import KINDS
from pools.poolers.pgbouncer import log_reading
from tests.callers import bearer, person
from tests.pages import page_of
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db
HEAD = "2026-11-28 22:33:46.113 UTC [812] WARNING"
WRONG_PASSWORD = "password authentication failed"


class Logged:
    """A log, its clock, and what Redis keeps of it."""

    def __init__(self, path: Path) -> None:
        self.path, self.now, self.kept, self.is_claimed = path, 1_000_000.0, {}, False
        self.lines = 0

    def refuse(
        self, times: int, reason: str = "password authentication failed", who: str = "shop/app@10.0.0.7"
    ) -> None:
        with self.path.open("a") as log:
            for _number in range(times):
                self.lines += 1
                log.write(f"{HEAD} C-0x55e2: {who}:{self.lines} pooler error: {reason}\n")

    def count(self, pooler: Pooler, after_s: float = 30.0) -> Refusals:
        self.now += after_s
        refused_logins.count(pooler)
        return refused_logins.of_one(pooler)


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    made = Logged(tmp_path / "pgbouncer.log")
    made.path.touch()
    (tmp_path / "pgbouncer.ini").write_text(f"[databases]\n[pgbouncer]\nlisten_port = 1\nlogfile = {made.path}\n")
    monkeypatch.setattr(refused_logins, "time", SimpleNamespace(time=lambda: made.now))
    monkeypatch.setattr(redis_store, "claim", lambda _key, _for_s: not made.is_claimed)
    monkeypatch.setattr(redis_store, "exclusive", lambda _name, _for_s: nullcontext(True))
    monkeypatch.setattr(redis_store, "read", lambda key: json.loads(made.kept.get(key, "null")))
    monkeypatch.setattr(redis_store, "read_bytes", lambda keys: [made.kept.get(key) for key in keys])
    monkeypatch.setattr(redis_store, "keep", lambda key, one, _for_s: made.kept.update({key: json.dumps(one)}))
    return made


@pytest.fixture
def pooler(logged: Logged) -> Pooler:
    return a_pooler(name="edge", config_dir=str(logged.path.parent), port=1)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(person())
    return client


def judge(logins: dict[Any, Refusals]) -> None:
    rules = {EventKind.LOGINS: thresholds.Bound(thresholds.WATCHES[EventKind.LOGINS], Rule(5, 1, 0))}
    values = [one for one in metric_values.all_values({}, logins=logins) if one.kind == EventKind.LOGINS]
    alerting.judge_values(values, rules)


def test_a_count_is_that_of_a_minute_however_long_ago_the_last_reading_was(logged, pooler):
    logged.refuse(100)
    assert logged.count(pooler).unknown == "its log was read for the first time a moment ago"
    logged.refuse(4)
    assert (logged.count(pooler).per_minute, logged.count(pooler).per_minute) == (4, 4)
    assert logged.count(pooler).per_minute == 0
    logged.refuse(40)
    assert logged.count(pooler, 240).per_minute == 10
    assert logged.count(pooler, 90).per_minute == 0


def test_what_was_refused_while_the_log_could_not_be_read_is_counted_over_all_that_time(logged, pooler):
    logged.count(pooler)
    aside = logged.path.with_name("aside.log")
    logged.path.rename(aside)
    for _try in range(19):
        assert "pgbouncer.log is not there" in logged.count(pooler).unknown
    aside.rename(logged.path)
    logged.refuse(100)
    assert logged.count(pooler).per_minute == 10


def test_what_an_older_release_kept_is_read_on(logged, pooler):
    logged.count(pooler)
    logged.refuse(4)
    logged.count(pooler)
    for key, text in logged.kept.items():
        logged.kept[key] = json.dumps({name: one for name, one in json.loads(text).items() if name != "read_at"})
    logged.refuse(40)
    assert logged.count(pooler, 240).per_minute == 10
    assert logged.count(pooler, 90).per_minute == 0


def test_a_message_names_the_most_frequent_in_letters_without_a_meaning(logged, pooler):
    logged.count(pooler)
    for number in range(5):
        logged.refuse(10 - number, who=f"shop/app{number}@10.0.0.{number}")
    logged.refuse(1, "no such database: http://x/<b>\u202e", who="(nodb)/(nouser)@unix(17)")
    logged.refuse(1, "no such user", who="shop/*bold* `x`@[::1]")
    assert logged.count(pooler).message == (
        "42 logins within a minute were refused: password_failed × 40, no_such_database × 1, no_such_user × 1; "
        "users: app0 × 10, app1 × 9, app2 × 8 and 3 more; databases: shop × 41, http:??x??b?? × 1; "
        "addresses: 10.0.0.0 × 10, 10.0.0.1 × 9, 10.0.0.2 × 8 and 4 more"
    )


def test_a_log_that_grows_faster_than_it_is_read_is_counted_in_part(logged, pooler, monkeypatch):
    monkeypatch.setattr(log_reading, "NEWS_BYTES", 1000)
    logged.count(pooler)
    logged.refuse(100)
    found = logged.count(pooler)
    assert (0 < found.count < 12, found.is_partial) == (True, True)
    assert found.message.endswith("; there may be more: the log grows faster than it is read")
    logged.count(pooler)
    logged.refuse(2)
    assert (logged.count(pooler).count, logged.count(pooler).is_partial) == (2, False)


def test_a_line_is_counted_once_it_is_whole(logged, pooler):
    logged.count(pooler)
    line = f"{HEAD} C-0x55e2: shop/app@10.0.0.7:1 pooler error: password authentication failed\n"
    logged.path.write_text(line[:60])
    assert logged.count(pooler).count == 0
    logged.path.write_text(line)
    assert logged.count(pooler).count == 1


def test_it_is_an_event_that_leads_to_the_lines_and_ends_by_itself(logged, pooler):
    for times, is_open in ((0, False), (4, False), (9, True), (0, True), (0, False)):
        logged.refuse(times)
        judge({pooler.pk: logged.count(pooler)})
        assert Event.objects.ongoing().exists() == is_open
    event = Event.objects.get()
    assert notifications.as_json(event, "opened")["url"].endswith(f"/poolers/{pooler.pk}/log/?refused=1")
    assert (event.get_kind_display(), event.value) == ("logins refused", 13)


def test_what_is_not_known_neither_opens_an_event_nor_ends_one(logged, pooler):
    logged.count(pooler)
    logged.refuse(9)
    judge({pooler.pk: logged.count(pooler)})
    logged.path.unlink()
    judge({pooler.pk: logged.count(pooler, 300)})
    judge({})
    assert Event.objects.ongoing().exists()
    Pooler.objects.update(config_dir="")  # it is let go, and its log will never be read
    judge({})
    assert not Event.objects.ongoing().exists()


def test_it_says_why_they_are_not_counted(logged, pooler, monkeypatch):
    assert refused_logins.of_one(pooler).unknown == "no worker has read its log within the last two minutes"
    logged.path.unlink()
    assert "pgbouncer.log is not there" in logged.count(pooler).unknown
    logged.path.touch()
    logged.count(pooler)
    assert logged.count(pooler).unknown == ""
    logged.now += 121
    assert refused_logins.of_one(pooler).unknown == "no worker has read its log within the last two minutes"
    monkeypatch.setattr(redis_store, "read_bytes", down)
    assert "Redis can't be reached" in refused_logins.of_one(pooler).unknown


def test_one_pooler_whose_reading_fails_keeps_no_other_from_being_read(logged, pooler, monkeypatch, caplog):
    other = a_pooler(name="other", config_dir=str(logged.path.parent), port=2)
    login_log = KINDS["pgbouncer"].login_log

    def news(asked: Pooler, *words: Any) -> Any:
        if asked == pooler:
            raise ValueError("not enough values to unpack")
        return login_log.news(asked, *words)

    monkeypatch.setitem(vars(KINDS["pgbouncer"]), "login_log", login_log._replace(news=news))
    for _reading in range(2):
        logged.now += 30
        tasks.count_refused_logins()
        logged.refuse(3)
    found = refused_logins.of([pooler, other])
    assert found[pooler.pk].unknown == "the panel failed (ValueError); the log of the worker has more"
    assert (found[other.pk].unknown, found[other.pk].count) == ("", 3)
    assert f"the log of pooler {pooler.pk} was not read" in caplog.text


def down(_keys: Iterator[str]) -> None:
    raise SharingDown


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"kind": "pgpool"}, "the panel reads no log of Pgpool-II"),
        ({"kind": "haproxy"}, "the panel reads no log of HAProxy"),
        ({"config_dir": ""}, "take it over to have refused logins counted"),
        ({"delivery": "pull"}, "its files are fetched"),
    ],
)
def test_poolers_whose_log_is_never_read_say_so(staff, logged, fields, reason):
    pooler = a_pooler(name="other", port=2, **fields)
    assert pooler not in refused_logins.readable()
    assert reason in refused_logins.of([pooler])[pooler.pk].unknown
    assert reason in page_of(staff.get(f"/poolers/{pooler.pk}/"))


def test_the_log_of_another_host_is_read_from_its_end(logged, pooler, settings):
    logged.count(pooler)
    logged.refuse(7)
    settings.GENERATOR = "rack-2"
    assert logged.count(pooler).unknown == "its log was read for the first time a moment ago"
    assert logged.count(pooler).count == 0


def test_two_tasks_at_once_count_once(logged, pooler):
    logged.count(pooler)
    logged.refuse(7)
    assert logged.count(pooler).count == 7
    logged.is_claimed = True
    assert logged.count(pooler).count == 7
    assert list(logged.kept) == [f"refused-logins:{pooler.pk}"], "`logins:` is where the panel's own logins rest"


def test_pages_the_api_and_metrics_have_it(staff, logged, pooler):
    logged.count(pooler)
    logged.refuse(6)
    logged.count(pooler)
    for page in (f"/poolers/{pooler.pk}/", f"/poolers/{pooler.pk}/log/"):
        text = page_of(staff.get(page))
        assert "password_failed × 6" in text
        assert f"/poolers/{pooler.pk}/log/?refused=1" in text
    client = bearer("read")
    assert client.get(f"/api/v1/poolers/{pooler.pk}/refused-logins/").json() == {
        "per_minute": 6.0,
        "unknown": "",
        "at": "1970-01-12T13:47:40Z",
        "is_partial": False,
        "reasons": [{"name": "password_failed", "count": 6}],
        "users": [{"name": "app", "count": 6}],
        "databases": [{"name": "shop", "count": 6}],
        "addresses": [{"name": "10.0.0.7", "count": 6}],
    }
    assert 'pooldeck_pooler_refused_logins{pooler="edge"} 6.0' in client.get("/metrics").content.decode()


def test_the_log_can_be_filtered_by_them(staff, logged, pooler):
    logged.refuse(1)
    logged.refuse(1, "query_wait_timeout")
    text = page_of(staff.get(f"/poolers/{pooler.pk}/log/?refused=1")).split("Last lines, newest first")[1]
    assert ("password authentication failed" in text, "query_wait_timeout" in text) == (True, False)
    found = bearer("read").get(f"/api/v1/poolers/{pooler.pk}/log/?refused=true").json()
    assert [line["reason"] for line in found["lines"]] == ["password_failed"]
