"""The pages of datasets."""

import re
from html import unescape

import pytest

from benchmarks.models import Dataset, Run, Status
from tests.benchmarks.records import a_run
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster

LIST, CREATE, FACTS = "/datasets/", "/datasets/new/", "/datasets/new/facts/"


def test_an_empty_list_says_the_next_step(staff):
    text = page_of(staff.get(LIST))
    assert "No dataset yet" in text
    assert f'href="{CREATE}"' in text


def test_the_list_shows_what_it_is_for_and_its_size(staff):
    Dataset.objects.create(cluster=a_cluster(name="demo"), database="shop", scale=10)
    text = page_of(staff.get(LIST))
    for part in ("demo", "shop", "pgbench", "scale 10", "1,000,000", "150 MB"):
        assert part in text


def test_the_list_says_what_a_preparation_left_unfinished_and_offers_to_replace_or_drop_it(staff):
    broken = a_run(purpose="prepare", status=Status.CANCELLED, options={"scale": 10})
    cluster = a_cluster()
    Dataset.objects.create(cluster=cluster, database="shop", scale=10, run=broken)
    text = page_of(staff.get(LIST))
    assert f'unfinished: <a href="/runs/{broken.pk}/">run {broken.number}</a> was interrupted' in text
    at = f"{CREATE}?engine=pgbench&amp;cluster={cluster.pk}&amp;database=shop"
    assert f'href="{at}&amp;scale=10"' in text
    assert f'href="{at}&amp;initialize_steps=d"' in text
    assert "/runs/new/?engine=pgbench" not in text
    assert "scale 10" not in text


@pytest.mark.parametrize(
    ("made", "loads", "drops"),
    [
        (
            {"action": "fill", "kind": "oltp", "tables": 4, "table_size": 500, "scale": None, "threads": 2},
            {"tables": "4", "table_size": "500"},
            {"action": "drop", "kind": "oltp", "tables": "4"},
        ),
        (
            {"action": "fill", "kind": "bulk_insert", "tables": 3, "table_size": 10_000, "threads": 1},
            {"script": "bulk_insert", "threads": "3"},
            {"action": "drop", "kind": "bulk_insert", "tables": "3"},
        ),
        (
            {"action": "fill", "kind": "tpcc", "tables": 1, "table_size": 10_000, "scale": 5, "threads": 1},
            {"script": "tpcc", "tables": "1", "scale": "5"},
            {"action": "drop", "kind": "tpcc", "tables": "1"},
        ),
    ],
    ids=["oltp", "bulk_insert", "tpcc"],
)
def test_the_list_leads_to_forms_that_load_remake_and_drop_all_of_a_sysbench_dataset(staff, made, loads, drops):
    run = a_run(purpose="prepare", status=Status.SUCCEEDED, engine="sysbench", options=made)
    Dataset.objects.create(cluster=a_cluster(), database="shop", engine="sysbench", scale=1, run=run)
    text = unescape(page_of(staff.get(LIST)))
    loading, remaking, dropping = re.findall(r'class="btn btn-sm" href="([^"]+)"', text)
    form = staff.get(loading).context["form"]
    assert (form["engine"].value(), form["database"].value(), {name: form[name].value() for name in loads}) == (
        "sysbench",
        "shop",
        loads,
    )
    form = staff.get(remaking).context["form"]
    reported = {name: str(value) for name, value in made.items() if value}
    assert {name: str(form[name].value()) for name in reported} == reported
    answer = staff.get(dropping)
    assert {name: answer.context["form"][name].value() for name in drops} == drops
    assert "Drop the tables" in page_of(answer)


def test_the_list_takes_the_same_queries_for_one_and_three(staff):
    Dataset.objects.create(cluster=a_cluster(), database="shop", scale=10)
    one = queries_of(staff, LIST)
    for name in ("a", "b"):
        Dataset.objects.create(cluster=a_cluster(), database=name, scale=10)
    assert queries_of(staff, LIST) == one


def test_the_address_fills_the_form(staff):
    cluster = a_cluster()
    form = staff.get(CREATE, {"cluster": cluster.pk, "database": "shop", "scale": 7}).context["form"]
    assert (form["database"].value(), form["scale"].value()) == ("shop", "7")


def test_the_form_that_drops_says_so(staff):
    at = {"cluster": a_cluster().pk, "database": "shop"}
    dropping = page_of(staff.get(CREATE, at | {"initialize_steps": "d"}))
    assert ("Drop the tables" in dropping, "Drop a dataset" in dropping) == (True, True)
    assert "Drop the tables" not in page_of(staff.get(CREATE, at))
    assert "Drop the tables" not in page_of(staff.get(CREATE, at | {"engine": "sysbench"}))


def test_bad_input_is_named_and_stays_typed(staff):
    answer = staff.post(CREATE, {"cluster": a_cluster().pk, "database": "shop", "scale": "many"})
    assert answer.context["form"].errors == {"scale": ["'many' is not a whole number: use 1 to 99,999"]}
    assert 'value="many"' in page_of(answer)


def test_an_unreachable_cluster_is_told_and_nothing_queued(staff):
    answer = staff.post(CREATE, {"cluster": a_cluster().pk, "database": "shop", "scale": "3"})
    assert "connection refused" in answer.context["form"].non_field_errors()[0]
    assert 'value="3"' in page_of(answer)
    assert Run.objects.count() == 0


def test_the_facts_of_nothing_chosen_ask_for_a_choice(staff):
    assert "Choose a target" in page_of(staff.get(FACTS))


def test_readers_may_look_but_not_prepare(reader):
    assert reader.get(LIST).status_code == 200
    assert reader.get(CREATE).status_code == 403
    assert reader.post(CREATE, {}).status_code == 403
