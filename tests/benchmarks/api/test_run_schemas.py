"""The types of a run's options in the API's description."""

from typing import Any

import pytest

from benchmarks.engines import ENGINES
from benchmarks.runs.submission import options
from tests.openapi import description, faults

pytestmark = pytest.mark.django_db
TARGET = {"pool": "9d2b4e70-5a31-4c8f-8e16-2f7a9c3d5b01"}
PLAN = {"jmeter": {"plan": "orders.jmx"}}


@pytest.fixture
def described() -> dict[str, Any]:
    return description()


def faults_of(described: dict[str, Any], component: str, value: Any) -> list[str]:
    return faults(described, {"$ref": f"#/components/schemas/{component}"}, value, written=True)


def test_each_engine_has_a_request_of_its_own(described):
    union = described["components"]["schemas"]["AskedRun"]
    assert union["discriminator"] == {
        "propertyName": "engine",
        "mapping": {name: f"#/components/schemas/{name.capitalize()}RunRequest" for name in ENGINES},
    }
    assert [one["$ref"] for one in union["oneOf"]] == list(union["discriminator"]["mapping"].values())


def test_an_option_has_the_type_limits_default_and_help_of_its_engine(described):
    schemas = described["components"]["schemas"]
    assert schemas["SysbenchOptions"]["properties"]["duration"] == {
        "title": "Duration (s)",
        "type": "integer",
        "minimum": 1,
        "maximum": 86_400,
        "nullable": True,
        "description": "How long the load lasts; leave it empty to count events instead",
        "default": 30,
    }
    assert schemas["PgbenchOptions"]["properties"]["protocol"]["enum"] == ["simple", "extended", "prepared", None]
    assert schemas["JmeterOptions"]["required"] == ["plan"]
    assert "nullable" not in schemas["JmeterOptions"]["properties"]["plan"]


def test_the_panels_own_options_belong_to_loads_alone(described):
    schemas = described["components"]["schemas"]
    assert "warm_up" in schemas["HttpOptions"]["properties"]
    assert "warm_up" not in schemas["HttpPreparationOptions"]["properties"]


@pytest.mark.parametrize("purpose", ["load", "prepare"])
@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_what_a_run_reads_back_can_be_sent_again(described, engine, purpose):
    if not ENGINES[engine].fields_for(purpose):
        return
    stored = options.validate(engine, PLAN.get(engine, {}), purpose=purpose)
    asked = {"target": TARGET, "engine": engine, "purpose": purpose, "options": stored}
    assert faults_of(described, f"{engine.capitalize()}RunRequest", asked) == []
    assert faults_of(described, "AskedRun", asked) == []


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"options": {"clients": 5, "builtin": ["select-only@9", "tpcb-like"]}},
        {"options": {"scripts": [{"text": "SELECT 1;"}, {"script": "orders", "weight": 2}]}},
        {"options": {"variables": {"rows": 10, "city": "Oslo"}, "warm_up": 5}},
        {"purpose": "prepare", "options": {"scale": 50, "initialize_steps": "dtgvp"}},
        {"engine": "http", "options": {"url": "http://shop.example/", "concurrency": 4}},
    ],
)
def test_requests_that_are_accepted_are_described(described, asked):
    assert faults_of(described, "AskedRun", {"target": TARGET, "engine": "pgbench"} | asked) == []
    options.validate(asked.get("engine", "pgbench"), _without_library(asked), purpose=asked.get("purpose", "load"))


def _without_library(asked: dict[str, Any]) -> dict[str, Any]:
    given = dict(asked.get("options", {}))
    if "scripts" in given:
        given["scripts"] = [one for one in given["scripts"] if "text" in one]
    return given | ({"url": None} if "url" in given else {})


@pytest.mark.parametrize(
    "asked",
    [
        {"options": {"clients": 0}},
        {"options": {"threads": 300}},
        {"options": {"concurrency": 5}},
        {"options": {"builtin": "drop-all"}},
        {"engine": "sysbench", "options": {"clients": 5}},
        {"engine": "jmeter"},
        {"engine": "jmeter", "options": {"plan": "orders.jmx"}, "purpose": "prepare"},
        {"engine": "locust"},
    ],
)
def test_requests_that_are_refused_are_not_described(described, asked):
    assert faults_of(described, "AskedRun", {"target": TARGET, "engine": "pgbench"} | asked) != []
