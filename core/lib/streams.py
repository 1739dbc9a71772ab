"""Texts that are made while they are sent."""

from collections.abc import AsyncIterator, Iterator
from functools import partial

from asgiref.sync import sync_to_async


async def one_by_one(text: Iterator[str]) -> AsyncIterator[str]:
    """Yield each piece, made in the thread that owns the request's database connection.

    Under ASGI, Django would buffer what comes from a synchronous iterator.
    """
    while (piece := await sync_to_async(partial(next, text, None))()) is not None:
        yield piece
