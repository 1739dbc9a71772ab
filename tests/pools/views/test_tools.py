"""The page that shows how a provider's tools are pointed at the panel."""

import json
import shlex

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from pools.models import ShelfEntry
from pools.views import tool_snippets
from pools.views.tool_snippets import Target
from pools.views.tools import TOOLS
from tests.pages import page_of
from tests.pools.records import a_cluster

URL = reverse("tool-list")
ODD = Target("https://panel.example.org", "0b0e", 'a"b${c}%{d}', "it's $HOME")


@pytest.mark.django_db
def test_each_text_has_the_readers_address_and_a_cluster(reader: Client) -> None:
    free = a_cluster(name="aaa")
    ShelfEntry.objects.create(cluster=free, name="aaa", size="s", region="r")
    cluster = a_cluster(name="orders")
    shown = page_of(reader.get(URL, headers={"host": "localhost:8123"}))
    target = Target("http://localhost:8123", str(cluster.pk), "orders", "postgres")
    for tool in TOOLS:
        assert escape(tool.render(target)) in shown
    assert "plain HTTP" in shown
    assert str(free.pk) not in shown


@pytest.mark.django_db
def test_without_a_cluster_the_texts_have_placeholders(reader: Client) -> None:
    assert "CLUSTER_NAME" in page_of(reader.get(URL))


def test_values_are_quoted_for_their_syntax() -> None:
    assert '"a\\"b$${c}%%{d}"' in tool_snippets.terraform(ODD)
    assert f"--db {shlex.quote(ODD.database)}" in tool_snippets.doctl(ODD)
    compile(tool_snippets.pydo(ODD), "pydo", "exec")
    assert json.dumps(ODD.database) in tool_snippets.ansible(ODD)
    body = shlex.split(tool_snippets.curl(ODD))
    assert json.loads(body[body.index("--json") + 1])["db"] == ODD.database


def test_no_text_passes_the_token_as_an_argument() -> None:
    for text in (tool_snippets.doctl(ODD), tool_snippets.curl(ODD)):
        commands = [line for line in text.splitlines() if line.lstrip().startswith(("doctl", "curl"))]
        assert not any("POOLDECK_TOKEN" in line for line in commands)


def test_only_plain_http_needs_pydos_permission() -> None:
    assert "enforce_https" not in tool_snippets.pydo(ODD)
    assert "enforce_https=False" in tool_snippets.pydo(Target("http://localhost", "0b0e", "a", "b"))
