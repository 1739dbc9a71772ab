"""The alert rules and the Grafana dashboard that the documentation offers, read by Prometheus's own promtool."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.models import Run
from panel.metrics import PanelCollector
from pools.monitoring.prometheus import FAMILIES
from tests.docs_blocks import DOCS
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_pool

pytestmark = pytest.mark.live

RULES = DOCS / "prometheus/pooldeck.rules.yml"
DASHBOARD = DOCS / "grafana/pooldeck.json"
OF_CONSOLES = {"pgbouncer_up", "pgbouncer_version_info", "pooldeck_console_age_seconds"}
METRIC = re.compile(r"\b(?:pgbouncer|pooldeck)_\w+")
SPANS = {"$__rate_interval": "1m", '"$pooler"': '".+"', '"$database"': '".+"'}


def promtool(*words: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def queries() -> Iterator[str]:
    """Yield what the panels ask, as Grafana fills it in."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for variable, value in SPANS.items():
                query = query.replace(variable, value)
            yield query


def test_each_rule_fires_where_it_should_and_nowhere_else(tmp_path: Path) -> None:
    shutil.copy(RULES, tmp_path)
    shutil.copy(Path(__file__).parent / "pooldeck.rules.test.yml", tmp_path)
    names = re.findall(r"- alert: (\w+)", RULES.read_text())
    assert set(re.findall(r"alertname: (\w+)", (tmp_path / "pooldeck.rules.test.yml").read_text())) == set(names)
    assert f"{len(names)} rules found" in promtool("check", "rules", RULES)
    promtool("test", "rules", "pooldeck.rules.test.yml", folder=tmp_path)


def test_each_query_of_the_dashboard_is_read_by_prometheus(tmp_path: Path) -> None:
    asked = list(queries())
    rules = [{"record": f"panel:query:{at}", "expr": query} for at, query in enumerate(asked)]
    (tmp_path / "queries.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(asked)} rules found" in promtool("check", "rules", tmp_path / "queries.yml")


@pytest.mark.django_db
def test_both_name_only_metrics_that_the_panel_has() -> None:
    Run.objects.enqueue()
    an_event(a_pool())
    known = {family.name for family in FAMILIES} | OF_CONSOLES
    known |= {metric.name for metric in PanelCollector(None).collect()}
    variables = json.dumps(json.loads(DASHBOARD.read_text())["templating"])
    named = set(METRIC.findall(" ".join([*queries(), variables, *re.findall(r"expr: .*|  pgb.*", RULES.read_text())])))
    assert named <= known, named - known


def test_panels_of_the_dashboard_lie_beside_each_other_and_have_numbers_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [
        (x, y)
        for one in (panel["gridPos"] for panel in panels)
        for x in range(one["x"], one["x"] + one["w"])
        for y in range(one["y"], one["y"] + one["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)
