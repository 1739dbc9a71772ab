"""What happens while a request waits (`?wait=`): tests act in place of its pauses."""

from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async

from core.accounts import waits


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Call it in place of each pause, in the thread of the test and with its database."""

    async def pause(_seconds: float) -> None:
        await sync_to_async(act)()

    monkeypatch.setattr(waits, "_pause", pause)
