"""How many event streams this web process serves, and whether it can take one more."""

import weakref
from collections.abc import AsyncGenerator

from django.conf import settings

_open: dict[object, int] = {}  # a key for each stream → its user's id


def have_room(user_id: int) -> bool:
    """Whether one more stream fits; one person gets at most half of them, so that a script leaves room for others."""
    users = list(_open.values())
    return len(users) < settings.STREAMS and users.count(user_id) < max(1, settings.STREAMS // 2)


class Stream:
    """A stream's text, which holds its place until Django closes it; one that was never begun, until it is forgotten.

    Closing is a thread's work in Django, counting the event loop's: each is one step on a dictionary.
    """

    def __init__(self, user_id: int, text: AsyncGenerator[bytes, None]) -> None:
        self._text = text
        key = object()
        _open[key] = user_id
        self._leave = weakref.finalize(self, _open.pop, key, None)

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        return self._text

    def close(self) -> None:
        """Give the place back; a second call is fine."""
        self._leave()
