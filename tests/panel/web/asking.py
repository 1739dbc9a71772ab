"""Asks an ASGI application, as a web server does for a client that stays until it has its answer."""

import asyncio
from dataclasses import dataclass
from typing import Any

from core.lib.asgi import Application


@dataclass(frozen=True)
class Answer:
    """What an application sent."""

    status: int
    headers: dict[str, str]
    body: bytes


async def ask(application: Application, path: str, method: str = "GET", **headers: str) -> Answer:
    """Send a request without a body and collect the answer."""
    sent: list[Any] = []
    coming = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if coming:
            return coming.pop()
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = path.partition("?")
    named = [(b"host", b"testserver"), *((name.encode(), value.encode()) for name, value in headers.items())]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": named}
    await application(scope | {"http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1)}, receive, send)
    found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:]))
