"""Each reader of a response has their reading of it: pages, JSON, streams of both kinds, tokens of each scope."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from core.accounts.models import ApiToken
from core.lib import private_text
from panel.private_texts import private_texts
from tests.callers import EVERY_SCOPE, person

pytestmark = pytest.mark.django_db
TEXT = private_text.write("refused", "out of reach")


def a_request(user: Any, *scopes: str) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = user
    if scopes:
        request.auth = ApiToken(scopes=list(scopes))  # type: ignore[attr-defined]  # as DRF leaves it
    return request


def read(request: HttpRequest, response: Any) -> str:
    answer = private_texts(lambda _request: response)(request)
    return b"".join(answer).decode()


@pytest.mark.parametrize(
    ("staff", "scopes", "reads"),
    [
        (False, (), "out of reach"),
        (True, (), "refused"),
        (True, ("read",), "out of reach"),
        (True, ("read", "run", "apply"), "out of reach"),
        (True, EVERY_SCOPE, "refused"),
        (False, EVERY_SCOPE, "out of reach"),
    ],
)
def test_the_scope_decides(staff: bool, scopes: tuple[str, ...], reads: str) -> None:
    request = a_request(person(staff=staff), *scopes)
    assert read(request, HttpResponse(f"a {TEXT} b")) == f"a {reads} b"
    assert read(request, StreamingHttpResponse([f"a {TEXT}", " b"])) == f"a {reads} b"


def test_strangers_have_the_public_reading() -> None:
    assert read(a_request(AnonymousUser()), HttpResponse(TEXT)) == "out of reach"
    assert read(RequestFactory().get("/"), HttpResponse(TEXT)) == "out of reach"


@pytest.mark.parametrize(("staff", "reads"), [(False, "out of reach"), (True, "refused")])
def test_an_asynchronous_stream_is_read_part_by_part(staff: bool, reads: str) -> None:
    request = a_request(person(staff=staff))

    async def events() -> AsyncIterator[str]:
        yield f"data: {TEXT}\n\n"
        yield "data: plain\n\n"

    def view(_request: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(events())

    async def asked() -> list[bytes]:
        answer = private_texts(view)(request)
        return [part async for part in answer]

    assert asyncio.run(asked()) == [f"data: {reads}\n\n".encode(), b"data: plain\n\n"]
