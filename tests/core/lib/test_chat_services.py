"""Messages by apprise: which addresses are taken, what is sent, and that no reason repeats a secret."""

import ast
import importlib
import inspect
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.lib import chat_services
from core.lib.chat_services import SERVICES, Message, SendFailed, SentInPart, Urgency
from tests.core.lib.https_services import Service, resolve_by, serving

SECRET = "T0kenThatNobodyMayRead"
# one address of each service, in the form of its documentation; the tokens are made up
ADDRESSES = {
    "discord": "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
    "gchat": "gchat://workspace/key/token",
    "gotifys": "gotifys://gotify.example/AbCdEfGhIjKlMno",
    "mmosts": "mmosts://chat.example/3ccdd113474722377935511fc85d3dd4",
    "ntfys": "ntfys://ntfy.example/topic",
    "opsgenie": "opsgenie://a10f94c3-5a9c-4e0d-8e26-3d7e0c9c2b5c",
    "pagerduty": "pagerduty://A1BRTD4JD@TIiajkdnlazkcOXrIdevi7/",
    "pagertree": "pagertree://int_0123456789",
    "pover": "pover://uQiRzpo4DXghDmr9QzzfQu27cmVRsG@azGDORePK8gMaC0QOYAMyEEuzJnyUi",
    "rockets": "rockets://user:password@rocket.example/room",
    "signl4": "signl4://abcdef123456",
    "slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7",
    "splunk": "splunk://database@db4bd7b6-5ad0-4ec0-9f4a-2dd4f0e2d6c6",
    "tgram": "tgram://123456789:abcdefg_hijklmnop/12315544/",
    "twilio": "twilio://AC735c307c62944b5a:e29dfbcebf390dee9@12223334444/15556667777",
    "workflows": "workflows://prod-1.westeurope.logic.azure.com:443/643e69f83c8944/u7g0cTkBVcZG3pzLkgZYTdTPiNSqVMx",
    "wxteams": "wxteams://" + "Y2lzY29zcGFyazovL3VzL1" * 3 + "abcdefghijklmn",
    "zulip": "zulip://botname@zulipchat/a8b7c6d5e4f3a2b1a8b7c6d5e4f3a2b1/general",
}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with serving(tmp_path, monkeypatch) as server:
        resolve_by(monkeypatch, ["127.0.0.1"])
        yield server


def test_each_service_is_read_and_named() -> None:
    assert ADDRESSES.keys() == SERVICES.keys()
    assert {scheme: chat_services.problem_of(url) for scheme, url in ADDRESSES.items()} == dict.fromkeys(ADDRESSES, "")
    assert {scheme: chat_services.service_of(url) for scheme, url in ADDRESSES.items()} == SERVICES


def test_the_web_address_that_a_service_shows_is_taken() -> None:
    url = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"
    assert (chat_services.problem_of(url), chat_services.service_of(url)) == ("", "Slack")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "dbus://",
        "gnome://",
        "macosx://",
        "windows://",
        "syslog://",
        "exec:///bin/true",
        "schan://x",
        "json://127.0.0.1/",
        "jsons://127.0.0.1/",
        "mailtos://user:pass@example.org",
        "mqtt://localhost/topic",
        "rsyslog://localhost",
        "ntfy://ntfy.example/topic",
        "gotify://gotify.example/AbCdEfGhIjKlMno",
        "https://example.org/hook",
        "http://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7",
        "slack",
        "ntfys://[",
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    assert chat_services.problem_of(url)
    with pytest.raises(SendFailed):
        chat_services.send(url, Message("title", "body"))


SEVERAL = {
    "mmosts": f"{ADDRESSES['mmosts']}?to=dba,ops",
    "ntfys": f"{ADDRESSES['ntfys']}/other",
    "pover": f"{ADDRESSES['pover']}/phone/%23gznej3rKEVAvPUxu9vvNnqpmZpokzF",
    "rockets": f"{ADDRESSES['rockets']}/#dba",
    "slack": f"{ADDRESSES['slack']}/#dba/#ops",
    "tgram": f"{ADDRESSES['tgram']}12315545/",
    "twilio": f"{ADDRESSES['twilio']}/15556667778",
    "zulip": f"{ADDRESSES['zulip']}/ops",
}


@pytest.mark.parametrize("scheme", SEVERAL)
def test_an_address_with_several_recipients_is_refused_with_their_number(scheme: str) -> None:
    assert chat_services.problem_of(SEVERAL[scheme]) == (
        "the address has 2 recipients, and a message that one of them refuses would be sent again to all: make a "
        "channel for each"
    )


@pytest.mark.parametrize(
    ("refused", "error", "reason"),
    [
        (
            {'"ops"'},
            SentInPart,
            "not all of its 2 recipients took it, and it is not sent again to those that did: make a channel for each "
            "(403 forbidden)",
        ),
        ({'"dba"', '"ops"'}, SendFailed, "403 forbidden"),
    ],
)
def test_what_some_recipients_of_a_stored_address_took_is_told_apart_from_what_none_took(
    service: Service, monkeypatch: pytest.MonkeyPatch, refused: set[str], error: type[SendFailed], reason: str
) -> None:
    url = f"ntfys://{service.place}/ops/dba"
    monkeypatch.setattr(type(chat_services._plugin_of(url)), "request_rate_per_sec", 0)
    service.text, service.refused = "forbidden", refused
    with pytest.raises(SendFailed) as failed:
        chat_services.send(url, Message("t", "b"))
    assert (type(failed.value), str(failed.value), len(service.got)) == (error, reason, 2)


@pytest.mark.parametrize(
    "option",
    ["template=/etc/passwd", "attach=file:///etc/passwd", "verify=no", "+X-Header=1", "-x=1", ":a=b", "rto=900"],
)
def test_options_that_read_files_or_weaken_the_connection_are_refused(option: str) -> None:
    assert "not taken in an address here" in chat_services.problem_of(f"{ADDRESSES['slack']}?{option}")


@pytest.mark.parametrize("url", ["ntfys://ntfy.example/a b", "ntfys://ntfy.example/\n", "ntfys://ntfy.exämple/a"])
def test_signs_that_no_address_has_are_refused(url: str) -> None:
    assert "printable ASCII" in chat_services.problem_of(url)


def test_each_service_makes_its_requests_in_a_module_that_can_be_confined() -> None:
    """None imports another client of the network, in which the judgment of addresses would not hold."""
    others = {"socket", "smtplib", "http", "urllib3", "aiohttp", "httpx", "asyncio", "subprocess", "ftplib"}
    for url in ADDRESSES.values():
        module = importlib.import_module(type(chat_services._plugin_of(url)).__module__)
        imported = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(inspect.getsource(module)))
            for name in (
                [one.name for one in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
        }
        assert "requests" in imported, url
        assert not imported & others, url


@pytest.mark.parametrize("urgency", Urgency)
def test_a_message_arrives(service: Service, urgency: Urgency) -> None:
    chat_services.send(f"ntfys://{service.place}/dba?priority=high", Message("A <title>", "one\ntwo & three", urgency))
    ((path, host, body),) = service.got
    assert (path, host) == ("/", service.place)
    assert all(part in body.decode() for part in ('"topic": "dba"', "A <title>", "one\\ntwo & three"))


def test_a_message_that_is_too_long_for_a_service_arrives_in_parts(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"ntfys://{service.place}/dba"
    plugin = type(chat_services._plugin_of(url))
    monkeypatch.setattr(plugin, "body_maxlen", 100)
    monkeypatch.setattr(plugin, "request_rate_per_sec", 0)
    chat_services.send(url, Message("t", "first " + "x" * 150 + " last"))
    parts = [body.decode() for _path, _host, body in service.got]
    assert len(parts) >= 2
    assert "first" in parts[0]
    assert "last" in parts[-1]


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (403, "forbidden", "403 forbidden"),
        (500, "", "500"),
        (404, f'{{"error": "no token {SECRET}"}}', '404 {"error": "no token …"}'),
        (302, "{}", "302 {}"),
    ],
)
def test_what_the_other_side_answered_is_told_without_the_secret(
    service: Service, caplog: pytest.LogCaptureFixture, status: int, text: str, reason: str
) -> None:
    service.status, service.text = status, text
    with pytest.raises(SendFailed) as failed:
        chat_services.send(f"ntfys://user:{SECRET}@{service.place}/dba", Message("t", "b"))
    assert str(failed.value) == reason
    assert SECRET not in "".join(record.getMessage() for record in caplog.records)


def test_a_host_that_may_not_be_asked_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_by(monkeypatch, ["169.254.169.254"])
    with pytest.raises(SendFailed, match=r"ntfy\.example resolves to 169\.254\.169\.254, a cloud's metadata service"):
        chat_services.send("ntfys://ntfy.example/dba", Message("t", "b"))


def test_a_plugin_that_fails_is_a_message_that_was_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"ntfys://user:{SECRET}@ntfy.example/dba"

    def fail(*_words: object, **_named: object) -> bool:
        raise ValueError(url)

    monkeypatch.setattr(type(chat_services._plugin_of(url)), "send", fail)
    with pytest.raises(SendFailed) as failed:
        chat_services.send(url, Message("t", "b"))
    assert SECRET not in str(failed.value)


def test_nothing_is_logged_at_the_lowest_level(service: Service, settings, caplog: pytest.LogCaptureFixture) -> None:
    """The loggers of apprise and of what it uses write addresses at theirs: the panel's settings silence them."""
    silenced = {name: one["level"] for name, one in settings.LOGGING["loggers"].items()}
    assert {silenced[name] for name in ("apprise", "requests", "urllib3")} == {"CRITICAL"}
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.DEBUG)
    loggers = {name: logging.getLogger(name).level for name in ("apprise", "requests", "urllib3")}
    try:
        for name in loggers:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        service.status = 500
        with pytest.raises(SendFailed):
            chat_services.send(f"ntfys://user:{SECRET}@{service.place}/dba{SECRET}", Message("t", "b"))
    finally:
        root.setLevel(before)
        for name, level in loggers.items():
            logging.getLogger(name).setLevel(level)
    assert SECRET not in caplog.text
