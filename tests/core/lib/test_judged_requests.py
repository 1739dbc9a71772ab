"""Requests of libraries go by HTTPS to addresses that were judged, and nowhere else."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import requests
from pytest_django import Settings

from core.lib import judged_requests
from core.lib.judged_requests import JudgedSession, Refused
from tests.core.lib.https_services import NAME, Service, resolve_by, serving


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with serving(tmp_path, monkeypatch) as server:
        yield server


def posted(url: str) -> tuple[requests.Response, list[str]]:
    with judged_requests.noted() as answers, JudgedSession() as session:
        return session.post(url, data="hello"), answers


def test_the_name_is_asked_for_once_and_still_named(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resolve_by(monkeypatch, ["127.0.0.1"], ["169.254.169.254"])
    answer, noted = posted(f"https://{service.place}/topic")
    assert (answer.status_code, answer.text, noted) == (200, "{}", ["200 {}"])
    assert service.got == [("/topic", service.place, b"hello")]
    assert asked == [NAME]


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "100.100.100.200", "0.0.0.0", "fe80::1", "::ffff:169.254.169.254", "224.0.0.1"]
)
def test_no_packet_goes_to_a_forbidden_address_not_even_beside_an_allowed_one(
    service: Service, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    resolve_by(monkeypatch, ["127.0.0.1", address])
    with judged_requests.noted() as answers, pytest.raises(Refused), JudgedSession() as session:
        session.post(f"https://{service.place}/")
    assert service.got == []
    assert f"{NAME} resolves to {address}" in answers[0]


def test_networks_of_the_administrator_hold(
    service: Service, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    from core.lib import env

    settings.TARGETS_ALLOW = env.networks("10.0.0.0/8")
    resolve_by(monkeypatch, ["127.0.0.1"])
    with pytest.raises(Refused, match="POOLDECK_TARGETS_ALLOW"):
        posted(f"https://{service.place}/")
    assert service.got == []


def test_the_next_address_is_tried_where_nothing_takes_the_connection(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_by(monkeypatch, ["127.0.0.2", "127.0.0.1"])  # the service listens on the second alone
    assert posted(f"https://{service.place}/")[0].status_code == 200
    assert len(service.got) == 1


def test_no_redirect_is_followed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.status = 302
    asked = resolve_by(monkeypatch, ["127.0.0.1"])
    answer, noted = posted(f"https://{service.place}/")
    assert (answer.status_code, noted, asked) == (302, ["302 {}"], [NAME])


def test_plain_http_and_other_schemes_are_no_requests(service: Service) -> None:
    for url in (f"http://127.0.0.1:{service.port}/", "file:///etc/passwd", "ftp://ntfy.example/"):
        with pytest.raises(requests.exceptions.InvalidSchema):
            posted(url)
    assert service.got == []


def test_a_certificate_of_another_name_is_refused_whatever_the_caller_wants(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_by(monkeypatch, ["127.0.0.1"])
    with judged_requests.noted() as answers, pytest.raises(requests.exceptions.SSLError), JudgedSession() as session:
        session.post(f"https://other.example:{service.port}/", verify=False)
    assert answers == ["its certificate is not one of the host, or is signed by nobody whom this machine trusts"]
    assert service.got == []


def test_proxies_of_the_environment_are_not_used(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    resolve_by(monkeypatch, ["127.0.0.1"])
    assert posted(f"https://{service.place}/")[0].status_code == 200


def test_no_more_than_a_part_of_a_long_answer_is_read(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.text = "x" * (judged_requests.READ_AT_MOST + 1000)
    resolve_by(monkeypatch, ["127.0.0.1"])
    answer, noted = posted(f"https://{service.place}/")
    assert len(answer.content) == judged_requests.READ_AT_MOST
    assert noted == [f"200 {'x' * judged_requests.SHOWN_CHARACTERS}"]


@pytest.mark.parametrize("part", ["headers", "body"])
def test_an_answer_that_comes_byte_by_byte_is_given_up(
    service: Service, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    service.drips = part
    monkeypatch.setattr(judged_requests, "OVER_WITHIN_S", 0.3)
    resolve_by(monkeypatch, ["127.0.0.1"])
    with judged_requests.noted() as answers, pytest.raises(requests.ConnectionError), JudgedSession() as session:
        session.post(f"https://{service.place}/")
    assert answers == ["the connection ended without an answer"]


def test_a_module_that_was_confined_has_no_other_way(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("plugin")
    module.requests = requests  # type: ignore[attr-defined]
    judged_requests.confine(module)
    resolve_by(monkeypatch, ["127.0.0.1"])
    for verb in ("get", "post", "put", "patch", "delete", "head", "options"):
        with pytest.raises(requests.exceptions.InvalidSchema):
            getattr(module.requests, verb)(f"http://127.0.0.1:{service.port}/")
    with pytest.raises(requests.exceptions.InvalidSchema):
        module.requests.request("post", f"http://127.0.0.1:{service.port}/")
    with pytest.raises(requests.exceptions.InvalidSchema):
        module.requests.Session().post(f"http://127.0.0.1:{service.port}/")
    assert module.requests.post(f"https://{service.place}/", "hello").status_code == module.requests.codes.ok
    assert requests.post is not module.requests.post
