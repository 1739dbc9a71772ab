"""The page and the API of a pooler's log, read from real files of this host."""

from pathlib import Path

import pytest

from pools.models import Pooler
from pools.poolers.pgbouncer import log_reading
from tests.callers import bearer
from tests.pages import page_of
from tests.pools.records import a_pooler

REAL = Path(__file__).parents[1] / "poolers" / "pgbouncer" / "logs" / "1.26.1.log"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "pgbouncer.log"
    path.write_bytes(REAL.read_bytes())
    (tmp_path / "pgbouncer.ini").write_text(f"[databases]\n[pgbouncer]\nlisten_port = 1\nlogfile = {path}\n")
    return path


@pytest.fixture
def pooler(log: Path, db: None) -> Pooler:
    return a_pooler(name="web", config_dir=str(log.parent), port=1)


def page(client, pooler, query=""):
    return page_of(client.get(f"/poolers/{pooler.pk}/log/{query}"))


def test_the_page_tells_what_happened_and_links_to_what_mends_it(staff, pooler):
    text = page(staff, pooler)
    assert "unsupported_startup_parameter" in text
    assert "extra_float_digits" in text
    assert f"/poolers/{pooler.pk}/settings/#id_ignore_startup_parameters" in text
    assert "08P01" in text
    assert text.index("client connections dropped") < text.index("process up"), "the newest is first"


def test_it_is_polled_until_somebody_stops_that(staff, pooler):
    assert 'hx-trigger="every 3s"' in page(staff, pooler)
    assert "hx-trigger" not in page(staff, pooler, "?live=0").split('id="pooler-log"')[1].split(">")[0]


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ("?level=ERROR", "unknown parameter: pgbouncer/foo", "process up"),
        ("?q=DNS+lookup", "DNS lookup failed: nowhere.invalid", "process up"),
        ("?database=shop", "login attempt: db=shop user=app tls=no", "process up"),
        ("?user=nobodyx", "pooler error: password authentication failed", "process up"),
        ("?reason=disabled", "is disabled", "process up"),
        ("?user=nobody-else", "No line has all of that.", "process up"),
    ],
)
def test_lines_are_filtered(staff, pooler, query, there, not_there):
    lines = page(staff, pooler, query).split("Last lines, newest first")[1]
    assert there in lines
    assert not_there not in lines


def test_a_rotated_log_is_read_on(staff, pooler, log):
    log.rename(f"{log}.1")
    log.write_text("2026-11-29 00:00:01.000 UTC [7] LOG listening on 127.0.0.1:6432\n")
    text = page(staff, pooler)
    assert "127.0.0.1:6432" in text
    assert "no more connections allowed (max_client_conn)" in text


def test_no_more_than_the_end_is_read(pooler, log, monkeypatch):
    monkeypatch.setattr(log_reading, "LAST_BYTES", 2000)
    whole = log.read_text().splitlines()
    lines = log_reading.read(pooler, str(log.parent / "pgbouncer.ini")).lines
    assert 0 < len(lines) < 25
    assert lines[-1].text in whole[-1]


def test_nothing_but_lines_of_a_log_is_shown(staff, pooler, log):
    log.write_text("POOLDECK_KEYS=zqsecret\npassword zqsecret\n")
    assert "zqsecret" not in page(staff, pooler)


def test_a_log_that_can_not_be_read_says_why(staff, pooler, log):
    log.unlink()
    assert "pgbouncer.log is not there" in page(staff, pooler)
    log.mkdir()
    assert "it is not a regular file" in page(staff, pooler)
    (log.parent / "pgbouncer.ini").write_text("[databases]\n[pgbouncer]\nlogfile = relative.log\n")
    assert "relative.log is relative" in page(staff, pooler)
    (log.parent / "pgbouncer.ini").write_text("[databases]\n[pgbouncer]\nlisten_port = 1\n")
    found = page(staff, pooler)
    assert "logfile of pooler" in found
    assert "Stop following" not in found, "nothing is followed"


@pytest.mark.parametrize(("kind", "reason"), [("pgpool", "reads no log of Pgpool-II"), ("haproxy", "HAProxy")])
def test_other_kinds_say_so(staff, kind, reason):
    assert reason in page(staff, a_pooler(name="other", kind=kind, port=2))


def test_a_watched_pooler_and_one_that_is_fetched(staff):
    assert "take it over to read its log" in page(staff, a_pooler(name="watched", config_dir="", port=3))
    pulled = a_pooler(name="pulled", config_dir="/zqpulled", delivery="pull", port=4)
    assert "the panel has no way to the host" in page(staff, pulled)


def test_the_api_has_the_same(pooler):
    client = bearer("read")
    found = client.get(f"/api/v1/poolers/{pooler.pk}/log/?level=ERROR").json()
    assert {line["level"] for line in found["lines"]} == {"ERROR"}
    reasons = {one["reason"]: one for one in found["reasons"]}
    assert reasons["max_client_conn"]["count"] == 2
    assert reasons["max_client_conn"]["setting"] == "max_client_conn"
    assert client.get(f"/api/v1/poolers/{pooler.pk}/log/?reason=disabled").json()["lines"][0]["sqlstate"] == "08P01"
    Path(found["paths"][0]).unlink()
    assert client.get(f"/api/v1/poolers/{pooler.pk}/log/").status_code == 502
