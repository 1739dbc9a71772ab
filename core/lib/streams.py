"""Texts that are made while they are sent."""

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async
from django.db import close_old_connections

# One thread makes the pieces of all: it is busy with one piece at a time, however slowly readers take them.
_maker = ThreadPoolExecutor(1, thread_name_prefix="pieces")


async def one_by_one(text: Iterator[str]) -> AsyncIterator[str]:
    """Yield each piece, made in a thread that serves no request.

    Under ASGI, Django would buffer what comes from a synchronous iterator.
    """
    in_thread = sync_to_async(_next, thread_sensitive=False, executor=_maker)
    while (piece := await in_thread(text)) is not None:
        yield piece


def _next(text: Iterator[str]) -> str | None:
    close_old_connections()
    try:
        return next(text, None)
    finally:
        close_old_connections()
