"""The answers of all pages and of all reads of both APIs, for the records of `every_record`."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.test import AsyncClient, Client
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from core.accounts.models import ApiToken
from tests.callers import person
from tests.panel.test_shown_texts import PAGES, QUERIES, address

RECORDS = {"clusters": "cluster", "poolers": "pooler", "pools": "pool", "runs": "run", "events": "event"}
RECORDS |= {"experiments": "experiment", "external-endpoints": "external", "shelf": "shelf", "scripts": "script"}
RECORDS |= {"settings-profiles": "profile", "tokens": "token", "ceilings": "ceiling"}
RECORDS |= {"teams": "team", "people": "person", "invitations": "invitation"}
STREAMS = ("/events/", "/live/")


def pages(reader: Client, records: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for _, name, kept in PAGES:
        url = address(name, kept, records) + QUERIES.get(name, "").format(**records)
        yield url, reader.get(url)
        if not kept:
            yield f"{url} as a part", reader.get(url, headers={"HX-Request": "true"})
    for kind in ("csv", "json", "html", "log"):
        url = f"/runs/{records['run']}/export/{kind}/"
        yield url, reader.get(url)


@cache
def _paths_read() -> list[str]:
    paths = SchemaGenerator().get_schema(public=True)["paths"]
    return [path for path, verbs in paths.items() if "get" in verbs and not path.endswith(STREAMS)]


def reads_of_the_api(caller: APIClient, records: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for path in _paths_read():
        key = records.get(RECORDS.get(path.split("/")[3], ""), "zqplaybook")
        url = re.sub(r"{(id|pk)}", str(key), path)
        url = url.replace("{user}", str(records["member"]))
        url = re.sub(r"{\w+}", "zqdatabase", url)
        yield url, caller.get(url)
    below = f"/v2/databases/{records['cluster']}"
    for url in ("/v2/databases", below, *(f"{below}/{word}" for word in ("pools", "dbs", "users", "config"))):
        yield url, caller.get(url)


def streams(scopes: tuple[str, ...], records: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What event streams send first; one of a run that has ended ends by itself."""

    async def read(url: str, headers: dict[str, str]) -> HttpResponse:
        answer = await AsyncClient().get(url, headers=headers)
        found = b""
        if answer.streaming:
            parts = aiter(answer.streaming_content)
            while b"data:" not in found:
                found += await anext(parts, b"data:")
        return HttpResponse(found or answer.content, status=answer.status_code)

    headers = {"authorization": f"Bearer {ApiToken.objects.issue(person(), 'stream', list(scopes))}"}
    for url in (f"/api/v1/runs/{records['run']}/events/",):
        yield url, async_to_sync(read)(url, headers)
