"""Compiled serializers answer as DRF does, in whatever form a value comes; `core.rest.compiled` says why they are."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy
from rest_framework import serializers
from rest_framework.utils.encoders import JSONEncoder

from benchmarks.api.serializers import RunSerializer
from core.accounts.models import Team
from core.rest import compiled
from core.rest.compiled import CompiledSerializer, listed, listed_of
from pools.api.cluster_serializers import ClusterSerializer, ClusterStatusSerializer
from pools.api.pool_serializers import PoolSerializer
from pools.api.pooler_serializers import PoolerSerializer
from pools.models import Pooler
from tests.callers import bearer
from tests.core.rest.test_answers import address
from tests.panel import every_record
from tests.pools.records import a_pooler

OF_LISTS = (ClusterSerializer, ClusterStatusSerializer, PoolerSerializer, PoolSerializer, RunSerializer)


class Shout(serializers.Field[str, str, str, str]):
    """A field that asks for more than its value."""

    def to_representation(self, value: str) -> str:
        return f"{value.upper()} {self.context['mark']}"


class Part(CompiledSerializer):
    """A nested record."""

    name = serializers.CharField()
    size = serializers.IntegerField(allow_null=True)
    note = serializers.CharField(required=False)
    kind = serializers.CharField(default="plain")


class Whole(CompiledSerializer):
    """A record with a field of each form."""

    name = serializers.CharField()
    deep = serializers.CharField(source="first.name")
    called = serializers.IntegerField(source="count")
    shouted = Shout(source="name")
    words = serializers.ListField(child=serializers.CharField())
    figures = serializers.DictField(child=serializers.FloatField(), source="by_name")
    first = Part()
    same = Part(source="*")
    parts = Part(many=True)
    secret = serializers.CharField(write_only=True)


def by_drf(serializer: serializers.Serializer[Any], row: object) -> dict[str, Any]:
    return serializers.Serializer.to_representation(serializer, row)


FIRST = {"name": gettext_lazy("team"), "size": None}
RECORD = {
    "name": "web",
    "size": 3,
    "count": lambda: "7",
    "words": ("a", None, 3),
    "by_name": {1: "2.5", "none": None},
    "first": FIRST,
    "parts": [FIRST, {"name": "x", "size": "4", "note": None, "kind": "odd"}],
    "secret": "s",
}


@pytest.mark.parametrize("row", [RECORD, SimpleNamespace(**RECORD)])
def test_each_form_of_a_value_is_answered_as_drf_does(row):
    serializer = Whole(row, context={"mark": "!"})
    assert serializer.data == by_drf(serializer, row)
    assert serializer.data == {
        "name": "web",
        "deep": "team",
        "called": 7,
        "shouted": "WEB !",
        "words": ["a", None, "3"],
        "figures": {"1": 2.5, "none": None},
        "first": {"name": "team", "size": None, "kind": "plain"},
        "same": {"name": "web", "size": 3, "kind": "plain"},
        "parts": [
            {"name": "team", "size": None, "kind": "plain"},
            {"name": "x", "size": 4, "note": None, "kind": "odd"},
        ],
    }


def test_what_a_record_lacks_is_the_same_error():
    row = SimpleNamespace(size=3)
    with pytest.raises(AttributeError) as expected:
        by_drf(Part(), row)
    with pytest.raises(AttributeError) as found:
        _ = Part(row).data
    assert str(found.value) == str(expected.value)


def test_lists_of_the_api_leave_no_field_to_drf():
    """One that it is left to costs a copy of all fields for each request, and ten times as much for each row."""
    left = {
        (of.__name__, name)
        for of in OF_LISTS
        for name, read in compiled._plan(of, False)
        if read.__qualname__.startswith("_by_drf")
    }
    assert left == set()


@pytest.mark.django_db
def test_each_record_of_the_api_is_answered_as_drf_does(monkeypatch):
    root = User.objects.create_superuser("root")
    keys, caller, checked = every_record.records(root), bearer(user=root), set()
    fast = CompiledSerializer.to_representation

    def compared(serializer: CompiledSerializer, row: object) -> dict[str, Any]:
        found, slow = fast(serializer, row), by_drf(serializer, row)
        assert json.dumps(found, cls=JSONEncoder) == json.dumps(slow, cls=JSONEncoder)
        checked.add(type(serializer))
        return found

    monkeypatch.setattr(CompiledSerializer, "to_representation", compared)
    for noun in ("clusters", "poolers", "pools", "runs", "hosts", "external-endpoints"):
        assert caller.get(address(f"/api/v1/{noun}/", keys)).status_code == 200
    assert set(OF_LISTS) < checked


@pytest.mark.django_db
def test_a_relation_that_a_list_has_fetched_takes_one_query_for_all_rows(django_assert_num_queries):
    team = Team.objects.create(name="guests")
    for name in ("a", "b"):
        a_pooler(name=name).shared_with.add(team)
    with django_assert_num_queries(2):
        rows = list(Pooler.objects.prefetch_related(listed("shared_with")))
        assert [[one.name for one in listed_of(row, "shared_with")] for row in rows] == [["guests"], ["guests"]]
    assert [one.name for one in listed_of(Pooler.objects.get(name="a"), "shared_with")] == ["guests"]
