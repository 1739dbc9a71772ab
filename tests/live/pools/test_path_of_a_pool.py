"""A pool's path through the code, as docs/development/paths.md draws it, is the one that it takes."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from django.test import Client

from core.lib.env import BASE_DIR
from pools import task_queue, tasks
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.callers import person

pytestmark = pytest.mark.django_db(transaction=True)
POOLS = BASE_DIR / "pools"
MOST_STEPS = 35  # what somebody has to read to follow it


def drawn() -> set[str]:
    """The modules of the first drawing; what stands without its folder lies beside the module before it, or below."""
    text = (BASE_DIR / "docs/development/paths.md").read_text().partition("```")[2].partition("```")[0]
    words = re.split(r"[→,;\n]", re.sub(r"(?m)^.{24}|else deployment|\([^)]*\)", "", text))
    found: set[str] = set()
    folder = ""
    for name in filter(None, (word.strip() for word in words)):
        path = next((one for one in (name, f"{folder}/{name}") if (POOLS / f"{one}.py").is_file()), None)
        if path:
            folder = str(Path(path).parent)
            found.add(path)
    return found


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Collect the modules of `pools` of which a function runs in this thread."""
    found: set[str] = set()
    before = sys.getprofile()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(f"{POOLS}/"):
            found.add(code.co_filename.removeprefix(f"{POOLS}/").removesuffix(".py"))

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


def test_a_pool_takes_the_path_that_is_drawn(
    cluster: Cluster, pooler: Pooler, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_queue, "send", lambda _name, *words: tasks.apply_pooler(*words))
    client.force_login(person())
    typed = {"cluster": str(cluster.pk), "pooler": str(pooler.pk), "name": "orders", "database": "app", "user": "app"}
    with recorded() as modules:
        answer = client.post("/pools/new/", typed | {"mode": "transaction", "size": "3", "target": "primary"})
    assert answer.status_code == 302
    assert Pool.objects.get().state == PoolState.APPLIED
    assert drawn() - modules == set()
    assert 25 <= len(drawn()) <= MOST_STEPS  # fewer were not read from the drawing
