"""Fields that choose a record: a select of few, a search field of many, which takes a name, an id, or neither."""

import pytest
from django.urls import reverse

from benchmarks.forms.runs import RunForm
from pools.forms import record_choice
from pools.forms.pools import PoolForm
from tests.callers import of_an_admin
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def many(monkeypatch):
    """Two records are many."""
    monkeypatch.setattr(record_choice, "MOST_LISTED", 1)


@pytest.fixture
def pools():
    """Two pools of one name, and one of its own."""
    db, other = a_cluster(name="db-1"), a_cluster(name="db-2")
    east, west = a_pooler(name="east"), a_pooler(name="west")
    rows = [("shop", east, db), ("shop", west, other), ("web", east, db)]
    return [a_pool(name=name, pooler=pooler, cluster=cluster) for name, pooler, cluster in rows]


def form(**posted):
    found = RunForm({"route": "pooled", **posted}, access=of_an_admin())
    found.is_valid()
    return found


def test_few_records_are_a_select(pools):
    html = str(form()["pool"])
    assert "<select" in html
    assert f'value="{pools[2].pk}"' in html


def test_many_records_are_a_search_field_that_asks_the_server(many, pools):
    html = str(form(pool=str(pools[2].pk))["pool"])
    assert "<select" not in html
    assert 'value="web@east"' in html
    assert '<datalist id="id_pool_records"></datalist>' in html
    assert f'hx-get="{reverse("record-choices", args=["pool"])}?of=pool"' in html


@pytest.mark.parametrize("typed", ["web@east", " web@east ", "web"])
def test_it_takes_a_name_as_people_write_it(many, pools, typed):
    assert form(pool=typed).cleaned_data["pool"] == pools[2]


def test_it_takes_an_id_as_a_select_posts_it(many, pools):
    assert form(pool=str(pools[0].pk)).cleaned_data["pool"] == pools[0]


@pytest.mark.parametrize("typed", ["shop", "nothing", "web@west", "'; --"])
def test_what_names_no_record_or_several_is_refused_and_stays(many, pools, typed):
    found = form(pool=typed)
    assert found.errors["pool"] == ["this pool is not there (any more): choose one of the list"]
    assert found["pool"].value() == typed


def test_the_form_of_a_pool_follows_a_typed_pooler_and_cluster(many, pools):
    posted = {"name": "new", "pooler": "west", "cluster": "db-2", "database": "d", "size": 5, "mode": "session"}
    found = PoolForm(posted, access=of_an_admin())
    assert (found.chosen_pooler, found.chosen_cluster) == (pools[1].pooler, pools[1].cluster)


def test_the_choices_of_a_cluster_follow_its_typed_name(many, pools, staff):
    page = staff.post(reverse("pool-choices"), {"pooler": "west", "cluster": "db-2", "name": "new"})
    assert page.context["chosen_cluster"] == pools[1].cluster
    assert 'value="db-2"' in staff.post(reverse("pool-create"), {"refill": "1", "cluster": "db-2"}).content.decode()


def test_an_empty_search_field_shows_the_record_that_is_chosen_without_one(many, pools):
    assert 'value="east"' in str(PoolForm(access=of_an_admin())["pooler"])


def suggested(client, **words):
    (name,) = words
    text = client.get(reverse("record-choices", args=[name]), {"of": name, **words}).content.decode()
    return [part.partition('"')[0] for part in text.split('value="')[1:]]


def test_suggestions_have_the_words_and_begin_with_what_is_named_so(pools, staff):
    a_pool(name="aweb", pooler=pools[0].pooler, cluster=pools[0].cluster)
    assert suggested(staff, pool="web") == ["web@east", "aweb@east"]
    assert suggested(staff, pool="shop@w") == ["shop@west"]
    assert suggested(staff, pooler="EAS") == ["east"]


def test_suggestions_are_few_however_many_there_are(staff):
    for at in range(record_choice.SUGGESTED + 5):
        a_cluster(name=f"many-{at}")
    assert len(suggested(staff, cluster="many")) == record_choice.SUGGESTED


def test_an_unknown_source_is_not_there(staff):
    assert staff.get(reverse("record-choices", args=["secret"])).status_code == 404


def test_the_filters_of_a_long_list_are_search_fields_by_name(many, pools, staff):
    answer = staff.get("/pools/", {"pooler": "west"})
    assert '<datalist id="filter-pooler-records">' in answer.content.decode()
    assert [row["pool"] for row in answer.context["rows"]] == [pools[1]]
