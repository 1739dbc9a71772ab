"""What the tests of pools share."""

from collections.abc import Callable
from typing import Any

import pytest

from pools import task_queue

Asked = Callable[[], list[str]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any) -> Asked:
    """The ids of the poolers that workers were asked to apply since the test began; nothing reaches the queue."""
    sent: list[str] = []

    def send(name: str, pooler_id: str, *_: object) -> None:
        assert name == task_queue.APPLY
        sent.append(pooler_id)

    monkeypatch.setattr(task_queue, "send", send)
    capture = django_capture_on_commit_callbacks(execute=True)
    capture.__enter__()

    def commit() -> list[str]:
        capture.__exit__(None, None, None)
        return sent

    return commit
