"""The registry of engines, and a second engine by one line in it."""

from types import ModuleType

import pytest
from django.test import Client

from benchmarks import engines
from benchmarks.engines import pgbench
from benchmarks.engines.base import Field
from benchmarks.errors import BenchmarksError
from benchmarks.forms.runs import RunForm
from tests.benchmarks.records import a_run
from tests.callers import person

NEEDED = ("fields_for", "validate", "find", "build_command", "preview", "hear", "read_output", "tables_of")


@pytest.mark.parametrize("name", engines.ENGINES)
def test_an_engine_has_all_that_a_run_needs(name: str) -> None:
    assert [part for part in NEEDED if not callable(getattr(engines.engine(name), part, None))] == []


def test_an_unknown_engine_is_refused_by_name() -> None:
    with pytest.raises(BenchmarksError, match="'warp' is not an engine here; use pgbench"):
        engines.engine("warp")


@pytest.fixture
def staff(db: None, client: Client) -> Client:
    """A browser of somebody who may do everything."""
    client.force_login(person())
    return client


@pytest.fixture
def warp(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An engine whose one option is its speed."""
    warp = ModuleType("warp")
    for part in NEEDED:
        setattr(warp, part, getattr(pgbench, part))
    speed = Field("speed", "--speed", "Speed", "int", default=9, minimum=1, maximum=9)
    warp.fields_for = lambda purpose: (speed,)  # type: ignore[attr-defined]
    warp.validate = lambda raw, *, purpose: {"speed": int(raw["speed"])}  # type: ignore[attr-defined]
    warp.preview = lambda options, endpoint: f"warp {options['speed']}"  # type: ignore[attr-defined]
    monkeypatch.setitem(engines.ENGINES, "warp", warp)
    return warp


@pytest.mark.usefixtures("warp")
def test_the_form_offers_the_options_of_the_chosen_engine(staff: Client) -> None:
    page = staff.get("/runs/new/", {"engine": "warp"}).content.decode()
    assert 'name="speed"' in page
    assert 'name="clients"' not in page
    assert '<input type="hidden" name="engine" value="warp"' in page
    assert "?engine=pgbench" in page
    assert 'name="clients"' in staff.get("/runs/new/").content.decode()
    assert 'name="clients"' in staff.get("/runs/new/", {"engine": "weft"}).content.decode()


@pytest.mark.usefixtures("warp", "db")
def test_the_chosen_engine_judges_its_options() -> None:
    form = RunForm({"route": "pooled", "engine": "warp", "speed": "7"})
    form.is_valid()
    assert (form.engine_name, form.cleaned_data["options"]) == ("warp", {"speed": 7})


@pytest.mark.usefixtures("warp")
def test_a_run_is_cloned_with_its_engine(staff: Client) -> None:
    run = a_run(engine="warp", options={"speed": 3})
    page = staff.get("/runs/new/", {"clone": run.pk}).content.decode()
    assert 'name="speed" value="3"' in page
