"""A real worker tells the plans of its own host, and of one that comes while it lives."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.errors import InvalidOptions
from benchmarks.generators import host_files
from benchmarks.models import Generator
from tests.live.panel_programs import TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
JDBC = Path(__file__).parents[2] / "benchmarks" / "engines" / "jmeter" / "plans" / "jdbc.jmx"
NAME = "planner"


def wait_for_plans(plans: dict[str, str]) -> None:
    """Until the generator has told these."""
    deadline = time.monotonic() + 120
    while (described := Generator.objects.filter(name=NAME).values_list("files", flat=True).first() or {}).get(
        "jmeter"
    ) != plans:
        assert time.monotonic() < deadline, f"it told {described}"
        time.sleep(0.1)


def test_a_plan_that_comes_to_a_generator_can_be_named_at_once_and_is_that_of_its_host_alone(
    make_worker: Callable[..., TestWorker], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plans = tmp_path / "plans"
    plans.mkdir()
    monkeypatch.setenv("POOLDECK_JMETER_PLANS", str(plans))
    make_worker(NAME)
    wait_for_plans({})
    with pytest.raises(InvalidOptions, match=r"generator 'planner' has no late\.jmx: put it there into the folder"):
        host_files.check("jmeter", {"plan": "late.jmx"}, [NAME])
    (plans / "late.jmx").write_text(JDBC.read_text())
    wait_for_plans({"late.jmx": ""})
    host_files.check("jmeter", {"plan": "late.jmx"}, [NAME])
