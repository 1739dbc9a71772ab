"""A run beside others' work on its host is suspect, with the figure: it was valid with the host 100 % busy."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from benchmarks.models import Status, Validity
from tests.live.benchmarks.conftest import Submit, execute

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_this_process"),
]


@pytest.fixture
def crowd() -> Iterator[None]:
    """Others, more than there are cores."""
    count, words = 3 * (os.cpu_count() or 1), [sys.executable, "-c", "while True: pass"]
    # each in a session of its own: Linux shares the processors out between sessions (sched(7), autogroup)
    busy = [subprocess.Popen(words, start_new_session=True) for _ in range(count)]
    yield
    for one in busy:
        one.kill()
        one.wait()


@pytest.mark.timing
@pytest.mark.usefixtures("crowd")
def test_others_work_makes_a_run_suspect_unless_it_may(submit: Submit, settings: Settings) -> None:
    settings.CONTENTION_PERCENT = 25
    run = execute(submit(duration=4, builtin="select-only", rate=None))
    assert (run.status, run.validity) == (Status.SUCCEEDED, Validity.SUSPECT), run.conditions["meanwhile"]
    (reason,) = [reason for reason in run.reasons if reason.startswith("others' work took ")]
    assert "% of the processors of the generator's host" in reason
    assert run.conditions["meanwhile"]["others_percent"] > 25
    settings.CONTENTION_PERCENT = 0
    assert execute(submit(duration=2, builtin="select-only", rate=None)).validity == Validity.VALID
