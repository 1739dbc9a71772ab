"""A kind of pooler, or an engine, is a folder and its lines in the registries: without them the panel works on."""

import shutil

import pytest

from tests.panel.code_copies import CodeCopy

EVERYTHING = """
import importlib, pkgutil
import benchmarks, panel, pools
for app in (panel, pools, benchmarks):
    for module in pkgutil.walk_packages(app.__path__, app.__name__ + "."):
        if not module.name.endswith("__main__") and module.name not in {"panel.asgi", "panel.settings"}:
            importlib.import_module(module.name)
call_command("check")
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
                "/hosts/", "/runs/", "/runs/new/", "/datasets/", "/experiments/", "/generators/"):
    page(address)
schemas = client.get("/api/schema/?format=json").json()["components"]["schemas"]
"""
KINDS = {"haproxy": ("HAProxy", "HAPROXY")}
ENGINES = {"sysbench": "Sysbench", "http": "Http", "jmeter": "JMeter"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_pooler_is_a_folder_and_its_lines(copy: CodeCopy, database: str, kind: str) -> None:
    driver, constant = KINDS[kind]
    shutil.rmtree(copy.path / "pools/poolers" / kind)
    copy.remove_line("pools/poolers/__init__.py", f"import {driver}")
    copy.remove_line("pools/poolers/__init__.py", f"PoolerKind.{constant}:")
    copy.remove_line("pools/models/poolers.py", f'    {constant} = "{kind}"')
    words = f"""
assert '"{kind}"' not in page("/poolers/new/")
choices = [one["enum"] for one in schemas.values() if "pgbouncer" in one.get("enum", ())]
assert choices and not any("{kind}" in one for one in choices), choices
"""
    copy.check(EVERYTHING + database + PAGES + words)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_is_a_folder_and_its_lines(copy: CodeCopy, database: str, engine: str) -> None:
    shutil.rmtree(copy.path / "benchmarks/engines" / engine)
    copy.remove_line("benchmarks/engines/__init__.py", f"import {ENGINES[engine]}")
    copy.remove_line("benchmarks/engines/__init__.py", f'    "{engine}":')
    words = f"""
assert client.get("/runs/new/?engine={engine}").status_code in (200, 404)
assert "{engine.title()}RunRequest" not in schemas
"""
    copy.check(EVERYTHING + database + PAGES + words)
