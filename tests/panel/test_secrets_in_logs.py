"""Secrets in addresses reach neither a log, whoever writes it, nor an error mail, and guessing them is limited."""

import io
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from uvicorn.config import LOGGING_CONFIG
from uvicorn.logging import AccessFormatter

from benchmarks.experiments.report import shared_links
from benchmarks.models import SharedLink
from core.accounts.operations import Audience
from core.accounts.routes import all_routes
from core.lib import secret_addresses
from core.lib.log_lines import Lines
from tests.benchmarks.records import a_finished_run
from tests.callers import bearer, person

pytestmark = pytest.mark.django_db
ADDRESSES = (
    "/shared/{}/",
    "/shared/{}",
    "/panel/shared/{}/?page=2",
    "/invitation/?token={}",
    "/first-admin/?token={}",
    "/account/provider/callback/?state={}&code={}",
)
SECRET = "zq-S3cret_token-of-an-address"


@pytest.fixture
def path() -> str:
    """That of a link which works."""
    _link, address = shared_links.issue(a_finished_run(), person(), timedelta(days=7))
    return "/shared/" + address.split("/shared/")[1]


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What every logger writes, as the panel's own handler formats it."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(Lines("%(name)s %(message)s"))
    logging.getLogger().addHandler(handler)
    yield text
    logging.getLogger().removeHandler(handler)


def token_of(path: str) -> str:
    return path.split("/")[2]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_record_holds_the_secret_of_an_address(address: str, caplog: pytest.LogCaptureFixture) -> None:
    asked = address.format(SECRET, SECRET)
    logging.getLogger("django.request").error("Internal Server Error: %s", asked)
    logging.getLogger("other").warning("%(path)s", {"path": asked})
    logging.getLogger("other").warning(f"asked for {asked}")
    logging.getLogger("other").warning("%s", ValueError(asked))
    assert len(caplog.records) == 4
    assert SECRET not in caplog.text
    assert caplog.text.count(secret_addresses.HIDDEN) == 4 * address.count("{}")


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_access_log_of_a_web_server_does_not_either(address: str) -> None:
    """uvicorn's, which formats the arguments of a record itself."""
    asked = address.format(SECRET, SECRET)
    text = str(LOGGING_CONFIG["formatters"]["access"]["fmt"])
    args = ("127.0.0.1:4", "GET", asked, "1.1", 200)
    record = logging.getLogger("uvicorn.access").makeRecord(
        "uvicorn.access", logging.INFO, __file__, 1, '%s - "%s %s HTTP/%s" %d', args, None
    )
    line = AccessFormatter(text, use_colors=False).format(record)
    assert SECRET not in line
    assert f"GET {secret_addresses.redacted(asked)} HTTP/1.1" in line


@pytest.mark.parametrize("text", ["/shared/", "/runs/7/", "GET /api/v1/tokens/?page=2", "shared memory"])
def test_what_has_none_stays_as_it_is(text: str) -> None:
    assert secret_addresses.redacted(text) == text


def test_an_error_on_a_shared_page_names_its_link_nowhere(
    path: str, logged: io.StringIO, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.ADMINS = [("admin", "admin@example.org")]

    def fail(_link: SharedLink) -> dict[str, Any]:
        raise RuntimeError(f"no figures for {path}")

    monkeypatch.setattr(shared_links, "figures", fail)
    answer = Client(raise_request_exception=False).get(path)
    assert answer.status_code == 500
    (error,) = (one for one in caplog.records if one.name == "django.request")
    assert error.getMessage() == "Internal Server Error: /shared/[hidden]/"
    (sent,) = mail.outbox
    report = [sent.subject, str(sent.body), *(str(content) for content, _type in sent.alternatives)]
    assert "RuntimeError" in "".join(report)
    assert "RuntimeError" in logged.getvalue()
    assert [part for part in [*report, logged.getvalue()] if token_of(path) in part] == []


def test_a_link_that_is_unknown_or_asked_for_otherwise_is_not_logged_either(
    path: str, logged: io.StringIO, caplog: pytest.LogCaptureFixture
) -> None:
    assert Client().post(path).status_code == 405
    assert Client().get(f"/shared/{SECRET}/").status_code == 404
    assert len([one for one in caplog.records if one.name == "django.request"]) == 2
    assert [one for one in (token_of(path), SECRET) if one in logged.getvalue()] == []


def test_every_address_that_anybody_may_ask_for_with_a_text_in_its_path_is_known_to_have_a_secret() -> None:
    """Such a text is what lets somebody in: a new one has to stand in `secret_addresses.FOLDERS`."""
    found = {
        route.path
        for route in all_routes()
        if "<str:" in route.path and route.operation and route.operation.role is Audience.ANYONE
    }
    assert found == {"shared/<str:token>/"}
    assert [
        path for path in found if SECRET in secret_addresses.redacted("/" + path.replace("<str:token>", SECRET))
    ] == []


def test_no_address_takes_a_parameter_that_is_named_like_a_secret_but_those_known() -> None:
    named = {path for path, names in parameters() if names & {"token", "secret", "password", "key"}}
    assert named == {"shared/<str:token>/"}


def parameters(resolver: URLResolver | None = None, prefix: str = "") -> Iterator[tuple[str, set[str]]]:
    """Each address with the names of its parameters."""
    for entry in (resolver or get_resolver()).url_patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield path, set(entry.pattern.regex.groupindex)
        else:
            yield from parameters(entry, path)


def test_who_guesses_links_is_told_to_wait_and_one_that_works_still_opens(path: str, settings: Any) -> None:
    settings.WRONG_TOKENS = 3
    client = Client(REMOTE_ADDR="192.0.2.9")
    answers = [client.get(f"/shared/guess-{number}/") for number in range(5)]
    assert [(one.status_code, one.headers.get("Retry-After")) for one in answers] == [(404, None)] * 3 + [
        (429, "60")
    ] * 2
    assert "try again in 60 s" in answers[-1].content.decode()
    assert client.get(path).status_code == 200
    assert Client(REMOTE_ADDR="192.0.2.10").get("/shared/guess/").status_code == 404


def test_where_redis_is_away_a_wrong_link_is_not_found_and_nothing_is_counted(settings: Any) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
    }
    assert Client().get("/shared/guess/").status_code == 404
    client = bearer("read")
    client.credentials(HTTP_AUTHORIZATION="Bearer pd_wrong")
    assert client.get("/api/v1/runs/").status_code == 401
