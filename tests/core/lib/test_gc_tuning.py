"""Long-lived processes leave what was imported out of their collections."""

import gc
import subprocess
import sys

import pytest

from core.lib import gc_tuning

SAID = "import gc; import panel.{module}; {then}; print(gc.get_freeze_count())"
IMPORTED_BY_A_WORKER = """
import gc
from panel.celery import app
seen = [gc.isenabled()]
app.loader.import_default_modules()
seen.append(gc.isenabled())
from celery.signals import worker_init
worker_init.send(None)
print(*seen, gc.isenabled(), gc.get_stats()[2]["collections"])
"""


def test_what_there_is_is_left_out():
    gc.unfreeze()  # Another test may have left frozen objects.
    before = gc.get_freeze_count()
    try:
        gc_tuning.freeze_existing()
        assert gc.get_freeze_count() > before + 10_000
    finally:
        gc.unfreeze()


@pytest.mark.parametrize(
    ("module", "then"),
    [
        ("asgi", "pass"),
        ("celery", "from celery.signals import worker_init; worker_init.send(None)"),
        ("celery", "from celery.signals import beat_init; beat_init.send(None)"),
        ("celery", "from celery.signals import worker_process_init; worker_process_init.send(None)"),
    ],
    ids=["web", "worker", "beat", "child"],
)
def test_each_process_leaves_its_modules_out(module: str, then: str):
    code = SAID.format(module=module, then=then)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 20_000


def test_nothing_is_collected_while_a_worker_imports_its_tasks():
    done = subprocess.run([sys.executable, "-c", IMPORTED_BY_A_WORKER], capture_output=True, text=True, check=True)
    *is_enabled, full_collections = done.stdout.split()
    assert is_enabled == ["True", "False", "True"]
    assert int(full_collections) <= 1
