"""Requests that this web process holds open: event streams, and requests that wait (`?wait=`).

Both count against one limit. A caller has a share of it, so that one script does not take all of the process.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from core.accounts.credentials import Credential

COME_BACK_S = 5
FOREVER = float("inf")


class TooManyHeld(APIException):
    """One more request can't be held open, in this process or by this caller; `wait` becomes `Retry-After`."""

    status_code = 503
    wait = COME_BACK_S

    def __init__(self, *, is_callers_share: bool) -> None:
        text = _("too many requests are held open: try again in %(seconds)d s, or poll instead of waiting")
        if is_callers_share:
            text = _(
                "you hold too many requests open (event streams and waits): try again in %(seconds)d s, or poll "
                "instead of waiting"
            )
        super().__init__(text % {"seconds": COME_BACK_S})


@dataclass(frozen=True)
class OpenRequest:
    """A request that is held open, and until when on the monotonic clock it counts."""

    credential: Credential
    is_wait: bool = False
    counts_until: float = FOREVER


_held: dict[object, OpenRequest] = {}  # each change of it is one atomic operation: threads and the event loop make them


def enter(request: OpenRequest) -> object:
    """Count the request as open and return the key to `leave` with. Raises `TooManyHeld`."""
    others, key = _counted(), object()
    _held[key] = request
    is_callers_share = _is_beyond_share(request, others)
    if is_callers_share or _is_full(request, others):
        leave(key)
        raise TooManyHeld(is_callers_share=is_callers_share)
    return key


def leave(key: object) -> None:
    """Count the request as closed; idempotent."""
    _held.pop(key, None)


@contextmanager
def held_by_thread(request: Request) -> Iterator[None]:
    """Count a request that occupies its thread while it waits. Raises `TooManyHeld` before anything is done."""
    key = enter(OpenRequest(Credential.of(request), is_wait=True))
    try:
        yield
    finally:
        leave(key)


def any_waits() -> bool:
    """Tell whether a request waits."""
    return any(one.is_wait for one in list(_held.values()))


def credentials_of_waits() -> set[Credential]:
    """Return the credentials of the requests that wait."""
    return {one.credential for one in list(_held.values()) if one.is_wait}


def _counted() -> list[OpenRequest]:
    """Return the open requests; one whose client went away before its wait began counts until its time has passed."""
    now = time.monotonic()
    for key, one in list(_held.items()):
        if one.counts_until < now:
            leave(key)
    return list(_held.values())


def _is_full(new: OpenRequest, others: list[OpenRequest]) -> bool:
    """Tell whether the process has no place for one more."""
    waits = [one for one in others if one.is_wait]
    return len(others) >= settings.STREAMS or (new.is_wait and len(waits) >= settings.WAITS)


def _is_beyond_share(new: OpenRequest, others: list[OpenRequest]) -> bool:
    """Tell whether the caller has the share of a user or of a token already."""
    of_user = [one for one in others if one.credential.user_id == new.credential.user_id]
    waits_of_user = [one for one in of_user if one.is_wait]
    token = new.credential.token_id
    of_token = [one for one in of_user if token and one.credential.token_id == token]
    return (
        len(of_user) >= _half(settings.STREAMS)
        or (new.is_wait and len(waits_of_user) >= _half(settings.WAITS))
        or len(of_token) >= settings.STREAMS_PER_TOKEN
    )


def _half(most: int) -> int:
    return max(1, most // 2)
