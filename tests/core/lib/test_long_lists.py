"""Pages of long lists: the same rows as a plain paginator's, in a whole order, and the last as cheap as the first."""

import pytest
from django.core.paginator import Paginator
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.lib.long_lists import LongList, in_whole_order
from pools.models import Pool, Pooler
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db
SIZE = 3


@pytest.fixture
def pools():
    """Eleven pools, some of which share a name."""
    cluster, poolers = a_cluster(), [a_pooler() for _ in range(3)]
    return [a_pool(name=f"shop_{at % 4}", pooler=poolers[at // 4], cluster=cluster) for at in range(11)]


def keys(page):
    return [one.pk for one in page]


@pytest.mark.parametrize("order", [("name", "pk"), ("-name", "-pk"), ("-name", "pk"), ("size", "-name", "pk")])
def test_every_page_has_the_rows_of_a_plain_paginator(pools, order):
    rows = Pool.objects.select_related("pooler").order_by(*order)
    plain, long = Paginator(rows, SIZE), LongList(rows, SIZE)
    assert [keys(long.page(at)) for at in long.page_range] == [keys(plain.page(at)) for at in plain.page_range]


def test_no_row_is_on_two_pages_where_the_order_has_ties(pools):
    long = LongList(Pool.objects.order_by("name"), SIZE)
    seen = [key for at in long.page_range for key in keys(long.page(at))]
    assert sorted(seen) == sorted(one.pk for one in pools)


def test_the_last_page_passes_over_no_rows(pools):
    long = LongList(Pool.objects.select_related("pooler").order_by("name"), SIZE)
    assert long.count == 11
    with CaptureQueriesContext(connection) as queries:
        page = long.page(4)
    assert len(page.object_list) == 2
    assert [one["sql"].partition("LIMIT ")[2] for one in queries] == ["2", ""]
    assert "JOIN" not in queries[0]["sql"]


def test_a_page_beyond_the_last_is_the_last(pools):
    long = LongList(Pool.objects.order_by("name"), SIZE)
    assert keys(long.get_page(99)) == keys(long.page(4))


def test_filters_hold_where_a_row_changes_between_the_two_queries(pools):
    rows = Pool.objects.filter(name="shop_0")
    assert {one.name for one in LongList(rows, 2).page(2)} == {"shop_0"}


def test_a_list_in_memory_is_cut_as_usual():
    assert list(LongList(["a", "b", "c"], 2).page(2)) == ["c"]


def test_an_empty_list_has_one_page():
    assert list(LongList(Pool.objects.all(), SIZE).get_page("x")) == []


@pytest.mark.parametrize(("name", "more"), [("shop_3", []), ("shop_0", ["COUNT"])])
def test_a_list_that_ends_on_its_first_page_is_not_gone_through_again_to_be_counted(pools, name, more):
    found = Pool.objects.filter(name=name)
    with CaptureQueriesContext(connection) as queries:
        page = LongList(found.order_by("pk"), 2).get_page(None)
        assert (len(page), page.paginator.count) == (2, 2 + len(more))
    assert ["COUNT" for one in queries if "COUNT(" in one["sql"]] == more


@pytest.mark.parametrize("order", [("name", "pk"), ("-name", "-pk")])
def test_pages_whose_keys_are_read_first_have_the_same_rows(pools, order):
    rows = Pool.objects.select_related("pooler").order_by(*order)
    plain, long = LongList(rows, SIZE), LongList(rows, SIZE, keys_first=True)
    assert [keys(long.page(at)) for at in long.page_range] == [keys(plain.page(at)) for at in plain.page_range]


def test_the_keys_of_a_first_page_are_read_without_the_rows(pools):
    long = LongList(Pool.objects.select_related("pooler").order_by("name"), SIZE, keys_first=True)
    with CaptureQueriesContext(connection) as queries:
        assert len(long.get_page(None)) == SIZE
    first, second = (one["sql"] for one in queries)
    assert "JOIN" not in first
    assert "JOIN" in second
    assert len(list(LongList(Pool.objects.filter(name="shop_3"), SIZE, keys_first=True).get_page(None))) == 2


def test_an_order_by_a_unique_column_takes_no_other(pools):
    pooler = in_whole_order(Pooler.objects.order_by("-name")).query.order_by
    assert (pooler, in_whole_order(Pool.objects.order_by("name")).query.order_by) == (("-name",), ("name", "pk"))
