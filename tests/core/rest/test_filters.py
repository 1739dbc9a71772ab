"""Lists that nobody filters are as filter sets leave them, without one being made."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver
from django_filters.filterset import BaseFilterSet

from benchmarks.forms.run_filter import RunFilter
from benchmarks.models import Run
from core.rest.filters import OF_EVERY_LIST
from pools.api.filters import PoolFilter
from pools.models import Pool
from tests.callers import bearer


def filter_sets(patterns: Any) -> Iterator[type[BaseFilterSet]]:
    """The declared filter sets of all views below."""
    for one in patterns:
        if hasattr(one, "url_patterns"):
            yield from filter_sets(one.url_patterns)
        elif declared := getattr(getattr(one.callback, "cls", None), "filterset_class", None):
            yield declared


def test_no_filter_is_named_as_a_parameter_of_every_list_and_those_that_leave_out_say_what_is_usual():
    found = set(filter_sets(get_resolver().url_patterns))
    assert {PoolFilter, RunFilter} < found
    for one in found:
        assert OF_EVERY_LIST.isdisjoint(one.base_filters), one
        assert hasattr(one, "usual") == ("filter_queryset" in vars(one)), one


@pytest.mark.django_db
@pytest.mark.parametrize(("filters", "model"), [(PoolFilter, Pool), (RunFilter, Run)])
def test_the_usual_rows_are_those_of_a_filter_set_without_parameters(filters, model):
    rows = model.objects.all()
    assert str(filters.usual(rows).query) == str(filters({}, rows).qs.query)


@pytest.mark.django_db
def test_a_filter_set_is_made_only_for_a_list_that_is_filtered(monkeypatch):
    made = []
    init = PoolFilter.__init__
    monkeypatch.setattr(
        PoolFilter, "__init__", lambda self, *args, **named: made.append(1) or init(self, *args, **named)
    )
    caller = bearer("read")
    for path in ("", "?page=1&page_size=5&search=x&ordering=name"):
        assert caller.get(f"/api/v1/pools/{path}").status_code == 200
    assert made == []
    assert caller.get("/api/v1/pools/?experiments=nonsense").status_code in (200, 400)
    assert len(made) == 1
