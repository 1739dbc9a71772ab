"""The registry of engines, and a second engine by one line in it."""

from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest
from django.test import Client

from benchmarks import engines
from benchmarks.engines.base import Engine, Field
from benchmarks.engines.pgbench.engine import Pgbench
from benchmarks.errors import BenchmarksError
from benchmarks.forms.runs import RunForm
from benchmarks.models import Purpose, Run
from pools.clusters.endpoints import Endpoint
from tests.benchmarks.records import a_run
from tests.callers import of_an_admin, person
from tests.pages import page_of

SPEED = Field("speed", "--speed", "Speed", "int", default=9, minimum=1, maximum=9)


class Warp(Pgbench):
    """An engine whose one option is its speed."""

    name = "warp"

    def fields_for(self, purpose: str) -> tuple[Field, ...]:
        return (SPEED,)

    def validate(self, raw: dict[str, Any], *, purpose: str) -> dict[str, Any]:
        return {"speed": int(raw["speed"])}

    def preview(self, options: dict[str, Any], endpoint: Endpoint) -> str:
        return f"warp {options['speed']}"


@pytest.mark.parametrize("name", engines.ENGINES)
def test_an_engine_goes_by_its_own_name(name: str) -> None:
    assert engines.engine(name).name == name
    assert len(name) <= (Run._meta.get_field("engine").max_length or 0)


@pytest.mark.parametrize("name", engines.ENGINES)
def test_each_option_of_an_engine_is_a_key_of_its_typed_options(name: str) -> None:
    engine = engines.engine(name)
    (typed,) = get_args(type(engine).__orig_bases__[0])
    options = {field.name for purpose in Purpose.values for field in engine.fields_for(purpose)}
    assert options - set(get_type_hints(typed)) == set()


def test_an_engine_without_all_that_a_run_needs_is_none() -> None:
    class Bare(Engine):
        name = "bare"

    with pytest.raises(TypeError, match="build_command"):
        Bare()  # type: ignore[abstract]


def test_an_unknown_engine_is_refused_by_name() -> None:
    with pytest.raises(BenchmarksError, match="'warp' is not an engine here; use pgbench"):
        engines.engine("warp")


@pytest.fixture
def staff(db: None, client: Client) -> Client:
    """A browser of somebody who may do everything."""
    client.force_login(person())
    return client


@pytest.fixture
def warp(monkeypatch: pytest.MonkeyPatch) -> None:
    """That engine, registered."""
    import_module("benchmarks.api.asked_runs")  # whose choices are the engines of its first import
    monkeypatch.setitem(engines.ENGINES, "warp", Warp())


@pytest.mark.usefixtures("warp")
def test_the_form_offers_the_options_of_the_chosen_engine(staff: Client) -> None:
    page = page_of(staff.get("/runs/new/", {"engine": "warp"}))
    assert 'name="speed"' in page
    assert 'name="clients"' not in page
    assert '<input type="hidden" name="engine" value="warp"' in page
    assert "?engine=pgbench" in page
    assert 'name="clients"' in page_of(staff.get("/runs/new/"))
    assert 'name="clients"' in page_of(staff.get("/runs/new/", {"engine": "weft"}))


@pytest.mark.usefixtures("warp", "db")
def test_the_chosen_engine_judges_its_options() -> None:
    form = RunForm({"route": "pooled", "engine": "warp", "speed": "7"}, access=of_an_admin())
    form.is_valid()
    assert (form.engine_name, form.cleaned_data["options"]) == ("warp", {"speed": 7})


@pytest.mark.usefixtures("warp")
def test_a_run_is_cloned_with_its_engine(staff: Client) -> None:
    run = a_run(engine="warp", options={"speed": 3})
    page = page_of(staff.get("/runs/new/", {"clone": run.pk}))
    assert 'name="speed" value="3"' in page
