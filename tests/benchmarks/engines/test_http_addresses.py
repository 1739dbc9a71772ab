"""Which addresses of users' own may be loaded."""

import socket

import pytest
from pytest_django import Settings

from benchmarks.engines import http_addresses
from benchmarks.engines.http.options import validate
from benchmarks.errors import InvalidOptions, Refused


@pytest.fixture(autouse=True)
def listed(settings: Settings) -> None:
    settings.HTTP_ALLOW = ["shop.example", "localhost:8081", "[::1]:9000", "169.254.169.254", "127.0.0.1"]


def resolve_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Every name is that address."""
    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answer)


@pytest.mark.parametrize(
    "url", ["https://shop.example/a?b=c", "http://SHOP.example.:99/", "http://localhost:8081", "http://[::1]:9000/"]
)
def test_a_listed_host_may_be_loaded(url: str) -> None:
    assert validate({"url": url})["url"] == url
    assert validate({"url": url})["workload"] is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://other.example/", "host other.example is not in POOLDECK_HTTP_ALLOW: use one of shop.example, "),
        ("http://localhost:8082/", "host localhost is not in POOLDECK_HTTP_ALLOW"),
        ("http://shop.example.other.example/", "is not in POOLDECK_HTTP_ALLOW"),
        ("ftp://shop.example/", "is not a web address: enter http:// or https:// and a host"),
        ("file:///etc/passwd", "is not a web address"),
        ("http://shop.example:0/", "is not a web address"),
        ("http://[::1/", "is not a web address"),
        ("http://user:pw@shop.example/", "would be shown with the run: leave it out"),
        ("http://shop.example/\r\nX: y", "an address has no blanks and only ASCII"),
        ("http://shop.example/ü", "only ASCII"),
        ("http://shop.example/" + "a" * 2_000, "of at most 2,000 characters: enter a shorter one"),
    ],
)
def test_all_else_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        validate({"url": url})
    assert reason in refused.value.errors["url"][0]


def test_without_a_list_every_address_is_refused(settings: Settings) -> None:
    settings.HTTP_ALLOW = []
    with pytest.raises(InvalidOptions, match="name their hosts in POOLDECK_HTTP_ALLOW"):
        validate({"url": "http://shop.example/"})


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("169.254.169.254", "cloud's metadata service"),
        ("fe80::1%eth0", "cloud's metadata service"),
        ("::ffff:169.254.169.254", "cloud's metadata service"),
        ("fd00:ec2::254", "cloud's metadata service"),
        ("100.100.100.200", "cloud's metadata service"),
        ("0.0.0.0", "not the address of a host"),
        ("224.0.0.1", "not the address of a host"),
    ],
)
def test_a_listed_name_must_not_lead_to_what_is_never_loaded(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_to(monkeypatch, address)
    with pytest.raises(Refused, match=reason):
        http_addresses.resolved("http://shop.example/")


def test_the_panels_own_services_are_never_loaded(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:7777/0"
    settings.PUBLIC_URL = "http://127.0.0.1:7778"
    for port in (7777, 7778):
        with pytest.raises(Refused, match=r"127\.0\.0\.1 is an address where the panel's own services listen"):
            http_addresses.resolved(f"http://127.0.0.1:{port}/")
    assert http_addresses.resolved("http://127.0.0.1:7779/") == "127.0.0.1"


def test_the_list_is_asked_again_when_the_run_starts(settings: Settings) -> None:
    settings.HTTP_ALLOW = ["elsewhere.example"]
    with pytest.raises(Refused, match="is not in POOLDECK_HTTP_ALLOW"):
        http_addresses.resolved("http://127.0.0.1/")


def test_a_name_without_an_address_is_told(settings: Settings) -> None:
    settings.HTTP_ALLOW = ["no-such-name.invalid"]
    with pytest.raises(Refused, match=r"host no-such-name\.invalid can't be resolved"):
        http_addresses.resolved("http://no-such-name.invalid/")
