"""A worker in another PID namespace, as in a container: it is waited for while it lives, and not once it died."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pools import deployment
from pools.models import Pooler, PoolState, Revision, RevisionState
from tests.live.panel_programs import shared_environment
from tests.live.pools.conftest import LogIn, MakePool, state_of
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)

NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
NAMESPACE += [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
HANGS_WHILE_WRITING = """
import time, django
django.setup()
from pools import deployment
from pools.models import Pooler
from pools.poolers.pgbouncer.session import PgBouncerSession
PgBouncerSession.go_live = lambda *_: time.sleep(600)
deployment.apply_pooler(Pooler.objects.get())
"""


@pytest.fixture
def elsewhere(make_pool: MakePool) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker that hangs in the middle of an apply of the pool `orders`, in a PID namespace of its own."""
    if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace can be made here")
    make_pool()
    words = [*NAMESPACE, sys.executable, "-c", HANGS_WHILE_WRITING]
    with subprocess.Popen(words, env=shared_environment("redis://127.0.0.1:1")) as process:
        try:
            until(_is_writing)
            yield process
        finally:
            process.kill()


def _is_writing() -> bool:
    return any(step["step"] == "writing" for one in Revision.objects.all() for step in one.steps)


def test_the_apply_of_a_worker_that_died_in_another_pid_namespace_is_taken_over_at_once(
    elsewhere: "subprocess.Popen[bytes]", pooler: Pooler, log_in: LogIn
) -> None:
    orders = pooler.pools.get()
    assert deployment.apply_pooler(pooler) is None  # it lives
    assert state_of(orders)[0] == PoolState.PENDING
    elsewhere.kill()
    elsewhere.wait()
    applied = until(lambda: deployment.apply_pooler(pooler), 3)  # the system ends the namespace in a moment
    assert (applied.state, state_of(orders), log_in("orders")) == (
        RevisionState.APPLIED,
        (PoolState.APPLIED, ""),
        "app",
    )
    dead = pooler.revisions.last()
    assert (dead.state, dead.reason) == (
        RevisionState.FAILED,
        "the worker died after the step 'writing'; the apply started over",
    )
