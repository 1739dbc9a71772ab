"""The commands of the documentation's pages, run from top to bottom beside a demo, as a reader runs them.

The address http://127.0.0.1:8000 is that of the demo, whose environment the commands have.
"""

import re
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from panel.quickstart.servers import free_port
from tests.docs_blocks import DOCS, PAGES, blocks, named, own_values
from tests.installation import ROOT, Installation
from tests.live.docs import shell
from tests.live.docs.readers import READERS, reader

DEMO = "http://127.0.0.1:8000"
# it makes runs for a minute or more
SLOW = {"docs/how-to/choose-a-size.md"}
RUN = {named(page): blocks(page.read_text()) for page in PAGES}
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name, found in RUN.items()
    if any(one.is_run for one in found)
]


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """One for all documents; whether a run is valid does not depend on what else this machine does."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("POOLDECK_CONTENTION_PERCENT", "0")
        with Installation(tmp_path_factory.mktemp("home"), "--port", str(free_port())) as started:
            make_pool_of_the_tutorial(started)
            yield started


def make_pool_of_the_tutorial(started: Installation) -> None:
    """Make by the API what the tutorial makes in a form."""
    (demo,) = started.api.get("pools/?search=app")["results"]
    asked = {name: demo[name] for name in ("cluster", "pooler", "database", "user", "mode")}
    made = started.api.post("pools/?wait=30", asked | {"name": "orders", "size": 5})
    assert started.api.wait(f"pools/{made['id']}/", "state", {"applied"}, 30)


@pytest.fixture
def variables(panel: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Those of all documents, of servers that each document has for itself."""
    with reader(panel, tmp_path_factory.mktemp("reader")) as found:
        yield found


@pytest.fixture
def checkout(panel: Installation, tmp_path: Path) -> Path:
    """A folder with what a checkout has, in which commands may write; `var` is the demo's home."""
    for entry in ROOT.iterdir():
        if entry.name not in ("var", "build", ".git"):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "var").symlink_to(panel.home)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_its_commands_do_what_the_page_says(name: str, variables: dict[str, str], checkout: Path) -> None:
    found = [replace(one, text=one.text.replace(DEMO, variables["POOLDECK_URL"])) for one in RUN[name]]
    told = own_values(found)
    assert told - set(variables) == set(), "the test has no value for a variable that readers are told to set"
    given = {key: value for key, value in variables.items() if key in told or key not in READERS}
    faults = shell.run(found, given, checkout)
    assert faults == [], "\n".join(faults)


def test_the_alert_rules_name_metrics_that_are_scraped(panel: Installation) -> None:
    request = urllib.request.Request(f"{panel.url}/metrics", headers={"Authorization": f"Bearer {panel.api.token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        scraped = answer.read().decode()
    groups = yaml.safe_load((DOCS / "prometheus/pooldeck.rules.yml").read_text())["groups"]
    expressions = [rule["expr"] for group in groups for rule in group["rules"]]
    named_there = set(re.findall(r"\b(?:pgbouncer|pooldeck)_\w+", " ".join(expressions)))
    assert len(named_there) >= 5
    # declared at least: the demo's PgBouncer has no log in which refused logins could be counted
    assert {name for name in named_there if not re.search(rf"(?m)^(?:# TYPE )?{name}[{{ ]", scraped)} == set()
