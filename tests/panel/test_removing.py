"""A kind of pooler, an engine or a delivery is what has its name, and a line in a registry: the panel works without."""

from collections.abc import Sequence

import pytest
from _pytest.mark.structures import ParameterSet

from benchmarks.engines import NAMES
from pools.config_files import deliveries
from pools.models import PoolerKind
from tests.panel.code_copies import CodeCopy

EVERYTHING = """
import importlib, pkgutil
import benchmarks, panel, pools
for app in (panel, pools, benchmarks):
    for module in pkgutil.walk_packages(app.__path__, app.__name__ + "."):
        if not module.name.endswith("__main__") and module.name not in {"panel.asgi", "panel.settings"}:
            importlib.import_module(module.name)
call_command("check")
call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
"""
PAGES = """
from django.contrib.auth import get_user_model
from django.test import Client
from tests.settings import *
get_user_model().objects.create_superuser("root", "", "secret")
client = Client(); client.force_login(get_user_model().objects.get())
def page(address):
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return answer.content.decode()
for address in ("/", "/poolers/", "/poolers/new/", "/poolers/paste/", "/pools/", "/pools/new/", "/clusters/",
                "/hosts/", "/runs/", "/runs/new/", "/datasets/", "/experiments/",
                "/playbooks/new/", "/scripts/", "/scripts/new/", "/generators/"):
    page(address)
from benchmarks.experiments import library
for spec in library.listed():
    page(f"/playbooks/{spec.name}/")
schemas = client.get("/api/schema/?format=json").json()["components"]["schemas"]
"""


@pytest.mark.parametrize("kind", PoolerKind.values)
def test_a_kind_of_pooler_is_its_folders_and_a_line(copy: CodeCopy, database: str, kind: str) -> None:
    copy.remove_folders(kind)
    copy.remove_line("pools/models/poolers.py", f'    {kind.upper()} = "{kind}"')
    others = [other for other in PoolerKind.values if other != kind]
    words = f"""
from pools.poolers import KINDS
assert list(KINDS) == {others}, KINDS
assert '<option value="{kind}"' not in page("/poolers/new/")
choices = [one["enum"] for one in schemas.values() if {others[0]!r} in one.get("enum", ())]
assert choices and not any("{kind}" in one for one in choices), choices
"""
    copy.check(EVERYTHING + database + PAGES + words)


@pytest.mark.parametrize("engine", NAMES)
def test_an_engine_is_its_folders_and_a_line(copy: CodeCopy, database: str, engine: str) -> None:
    copy.remove_folders(engine)
    copy.remove_line("benchmarks/engines/__init__.py", f'    "{engine}",')
    others = [other for other in NAMES if other != engine]
    words = f"""
from benchmarks.engines import ENGINES
assert list(ENGINES) == {others}, ENGINES
assert client.get("/runs/new/?engine={engine}").status_code in (200, 404)
runs = [name for name in schemas if name.endswith("RunRequest")]
assert len(runs) == {len(others)} and "{engine}RunRequest".lower() not in map(str.lower, runs), runs
"""
    copy.check(EVERYTHING + database + PAGES + words)


@pytest.mark.parametrize("delivery", deliveries.NAMES)
def test_a_delivery_is_its_module_and_a_line(copy: CodeCopy, database: str, delivery: str) -> None:
    (copy.path / f"pools/config_files/deliveries/{delivery}.py").unlink()
    copy.remove_line("pools/config_files/deliveries/__init__.py", f'    "{delivery}",')
    others = [other for other in deliveries.NAMES if other != delivery]
    words = f"""
from pools.models import Pooler, delivery_choices
assert [name for name, _label in delivery_choices()] == {others}
assert '<option value="{delivery}"' not in page("/poolers/new/")
choices = [one["enum"] for one in schemas.values() if {set(others)} <= {{*one.get("enum", ())}}]
assert choices and not any("{delivery}" in one for one in choices), choices
pooler = Pooler.objects.create(name="edge", host="10.0.0.1", config_dir="/etc/pb")
assert pooler.delivery == {others[0]!r}
page(f"/poolers/{{pooler.pk}}/")
"""
    copy.check(EVERYTHING + database + PAGES + words)


def _usual_first(names: Sequence[str]) -> list[str | ParameterSet]:
    """These names, of which all but the first are slow."""
    usual, *others = names
    return [usual, *(pytest.param(name, marks=pytest.mark.slow) for name in others)]


@pytest.mark.parametrize("kind", _usual_first(PoolerKind.values))
def test_without_a_kind_of_pooler_the_tests_of_the_others_pass(copy: CodeCopy, database: str, kind: str) -> None:
    copy.remove_folders(kind)
    copy.remove_line("pools/models/poolers.py", f'    {kind.upper()} = "{kind}"')
    copy.run_tests(copy.tests_without(kind, "pools/poolers"))


@pytest.mark.parametrize("engine", _usual_first(NAMES))
def test_without_an_engine_the_tests_of_the_others_pass(copy: CodeCopy, database: str, engine: str) -> None:
    copy.remove_folders(engine)
    copy.remove_line("benchmarks/engines/__init__.py", f'    "{engine}",')
    copy.run_tests(
        copy.tests_without(engine, "benchmarks/engines", "benchmarks/load_programs", "benchmarks/generators")
    )
