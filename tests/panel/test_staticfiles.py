"""Page files are collected: what pages use and no more, under names that tell their content."""

import json
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.views import serve
from django.http import Http404
from django.test import RequestFactory

from core.lib.env import BASE_DIR
from panel.staticfiles import BUNDLES, HashedStorage
from tests import seeds


@pytest.fixture(scope="module")
def collected(seeds_folder: Path) -> Path:
    """What collectstatic leaves in a panel's home."""
    return seeds.first_start(seeds_folder) / "static"


@pytest.fixture
def names(collected: Path) -> dict[str, str]:
    """Each file's hashed name."""
    listed: Any = json.loads((collected / "staticfiles.json").read_text())
    return dict(listed["paths"])


def test_every_file_that_a_template_names_is_there(names: dict[str, str]) -> None:
    pages = "".join(path.read_text() for path in (BASE_DIR / "templates").rglob("*.html"))
    named = set(re.findall(r"{% static '([^']+)'", pages))
    assert len(named) > 10
    assert named <= set(names)
    assert {"django_htmx/htmx-2.min.js", "img/icons.svg"} <= set(names)


def test_modules_name_each_other_with_their_hash(collected: Path, names: dict[str, str]) -> None:
    text = (collected / names["js/run_live.js"]).read_text()
    imported = re.findall(r'from "./([^"]+)"', text)
    assert names["js/charts.js"] != "js/charts.js"
    assert names["js/charts.js"] in {f"js/{name}" for name in imported}
    assert {f"js/{name}" for name in imported} <= set(names.values())


def test_what_no_page_loads_stays_out(names: dict[str, str]) -> None:
    assert not [name for name in names if name.endswith(".map") or name.startswith(("rest_framework", "admin"))]
    assert sorted(name for name in names if name.startswith("vendor/")) == [
        "vendor/charts.js",
        "vendor/tabler/css/tabler.min.css",
    ]


def test_a_file_that_is_not_collected_costs_no_page(collected: Path, caplog: pytest.LogCaptureFixture) -> None:
    storage = HashedStorage(location=collected)
    assert storage.stored_name("js/theme.js").startswith("js/theme.")
    assert storage.stored_name("js/of-a-newer-version.js") == "js/of-a-newer-version.js"
    assert "js/of-a-newer-version.js" in caplog.text


def test_a_bundle_holds_its_parts_in_their_order_and_they_are_not_collected_too(
    collected: Path, names: dict[str, str]
) -> None:
    parts = sorted(path.name for path in (BASE_DIR / "static" / "css" / "pooldeck").glob("*.css"))
    assert sorted(Path(part).name for part in BUNDLES["css/pooldeck.css"]) == parts
    text = (collected / names["css/pooldeck.css"]).read_text()
    assert text.index("--pd-gap:") < text.index(".pd-shell") < text.index(".pd-fields") < text.index(".pd-live-lost")
    assert not [name for name in names if name.startswith("css/pooldeck/")]


@pytest.mark.parametrize("name", BUNDLES)
def test_a_development_server_does_not_find_a_bundle_that_is_not_collected(name: str) -> None:
    """It answered 500."""
    assert (finders.find(name), finders.find(name, find_all=True)) == (None, [])
    with pytest.raises(Http404):
        serve(RequestFactory().get(f"/static/{name}"), name, insecure=True)


def test_the_address_of_a_file_is_worked_out_once_until_files_are_collected_again(
    collected: Path, names: dict[str, str]
) -> None:
    storage = HashedStorage(location=collected, base_url="/static/")
    assert [storage.url("img/icons.svg") for _time in range(3)] == [f"/static/{names['img/icons.svg']}"] * 3
    with mock.patch.object(storage, "stored_name") as worked_out:
        assert storage.url("img/icons.svg") == f"/static/{names['img/icons.svg']}"
    assert worked_out.call_count == 0
    storage.post_process({}, dry_run=True)
    storage.hashed_files = {"img/icons.svg": "img/icons.newer.svg"}
    assert storage.url("img/icons.svg") == "/static/img/icons.newer.svg"


def test_a_file_that_is_not_collected_is_looked_for_each_time(
    collected: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = HashedStorage(location=collected, base_url="/static/")
    assert [storage.url("js/of-a-newer-version.js") for _time in range(2)] == ["/static/js/of-a-newer-version.js"] * 2
    assert caplog.text.count("js/of-a-newer-version.js': run collectstatic") == 2
