"""Who may reach what: every address of the panel is asked, so that a new one can't be forgotten."""

import uuid
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from tests.callers import anonymous, bearer, person

pytestmark = pytest.mark.django_db
UNSAFE = ("post", "put", "patch", "delete")
OPEN_TO_ALL = {
    "/login/",
    "/login/passkey/",
    "/login/provider/",
    "/login/provider/callback/",
    "/login/second-factor/",
    "/first-admin/",
    "/invitation/",
    "/shared/word/",
    "/texts.js",
    "/healthz/live",
    "/healthz/ready",
}
DOCUMENTATION = {"/help/", "/help/word"}  # public, and 404 where it is not built, see test_help
FOR_MACHINES = {"/metrics"}  # answers strangers as the API does, see test_metrics
ONES_OWN = ("/logout/", "/tokens/", "/account/")  # everybody has an account, sessions and tokens of their own
SAMPLES = {"uuid": str(uuid.uuid4()), "str": "word", "int": "1", "slug": "word", "path": "word"}


def addresses(resolver: URLResolver, prefix: str = "/") -> Iterator[str]:
    """Every address, with some value for each part that varies."""
    for entry in resolver.url_patterns:
        route = entry.pattern
        assert isinstance(route, RoutePattern), f"{route} is no plain route: teach this test to fill it in"
        address = prefix + filled_in(route)
        if isinstance(entry, URLPattern):
            yield address
        else:
            yield from addresses(entry, address)


def filled_in(route: RoutePattern) -> str:
    address = str(route)
    for name, converter in route.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower().replace("string", "str")
        for written in (f"<{kind}:{name}>", f"<{name}>"):
            address = address.replace(written, SAMPLES[kind])
    assert "<" not in address, address
    return address


ADDRESSES = sorted(set(addresses(get_resolver())))
API = [address for address in ADDRESSES if address.startswith("/api/v1/")]
MANAGED = [address for address in ADDRESSES if address.startswith("/v2/")]
PAGES = [
    address
    for address in ADDRESSES
    if not address.startswith(("/api/", "/v2/")) and address not in OPEN_TO_ALL | FOR_MACHINES | DOCUMENTATION
]


def statuses(client: Client, addresses: list[str], methods: tuple[str, ...]) -> dict[tuple[str, str], int]:
    """What each method of each address answers."""
    asked = [(method, address) for address in addresses for method in methods]
    return {one: getattr(client, one[0])(one[1]).status_code for one in asked}


def others(found: dict[tuple[str, str], int], *allowed: int) -> dict[tuple[str, str], int]:
    """Those that answer anything else."""
    return {asked: status for asked, status in found.items() if status not in allowed}


def reader_in_the_browser() -> Client:
    client = Client()
    client.force_login(person(staff=False))
    return client


def test_there_is_something_to_ask():
    assert {"/", "/tokens/", "/api/docs/"} <= set(ADDRESSES)
    assert len(API) > 20
    assert "/v2/databases" in MANAGED


def test_the_api_answers_strangers_with_401():
    assert others(statuses(anonymous(), API, ("get", *UNSAFE)), 401) == {}
    assert others(statuses(anonymous(), MANAGED, ("get", *UNSAFE)), 401) == {}


@pytest.mark.django_db(transaction=True)  # the event stream asks who watches from a thread of its own
def test_a_reading_token_changes_nothing():
    assert others(statuses(bearer("read"), API, UNSAFE), 403) == {}
    assert others(statuses(bearer("read"), MANAGED, UNSAFE), 403) == {}


@pytest.mark.django_db(transaction=True)
def test_a_reader_in_the_browser_changes_nothing_over_the_api():
    assert others(statuses(reader_in_the_browser(), API, UNSAFE), 403) == {}


def test_a_reader_changes_nothing_through_the_pages():
    pages = [address for address in PAGES if not address.startswith(ONES_OWN)]
    assert others(statuses(reader_in_the_browser(), pages, ("post",)), 403, 404, 405) == {}


@pytest.mark.parametrize("method", ["get", "post"])
def test_pages_lead_strangers_to_the_login(method):
    led = {address: getattr(Client(), method)(address).headers.get("Location") for address in PAGES}
    assert led == {address: f"/login/?next={address}" for address in PAGES}


def test_what_is_open_answers_without_a_login():
    found = statuses(Client(), sorted(OPEN_TO_ALL), ("get",))
    assert [found.pop(("get", page)) for page in ("/first-admin/", "/invitation/")] == [410, 410]  # they take a link
    # without a provider in the settings
    assert [found.pop(("get", f"/login/provider/{page}")) for page in ("", "callback/")] == [302, 302]
    assert found.pop(("get", "/shared/word/")) == 404  # it takes a link too, and says nothing of those there are
    # they take a right password, and a browser's script
    assert [found.pop(("get", f"/login/{page}/")) for page in ("passkey", "second-factor")] == [302, 302]
    assert others(found, 200, 503) == {}
