"""The queue's other end, for what orders an overwrite."""

import pytest

from pools import task_queue, tasks


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Overwrites happen at once; applies wait to be called for."""

    def send(name: str, *args: str) -> None:
        if name == task_queue.OVERWRITE:
            tasks.overwrite_drift(*args)

    monkeypatch.setattr(task_queue, "send", send)
