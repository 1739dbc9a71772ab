"""The REST API of the shelf."""

import pytest
from django.utils import timezone

from pools.models import Cluster, ShelfEntry
from tests.callers import anonymous, bearer, queries_of
from tests.pools.api.conftest import make_cluster, make_pool

pytestmark = pytest.mark.django_db
URL = "/api/v1/shelf/"
ASKED = {"size": "db-s-1vcpu-2gb", "region": "nyc1"}


@pytest.fixture
def entry(cluster):
    return ShelfEntry.objects.create(cluster=cluster, name=cluster.name, **ASKED)


def url_of(entry):
    return f"{URL}{entry.pk}/"


def test_a_cluster_is_put_on_the_shelf(admin, cluster, pooler):
    answer = admin.post(URL, ASKED | {"cluster": cluster.pk, "pooler": pooler.pk, "drop_on_return": True})
    assert answer.status_code == 201
    assert answer.json() == {
        "cluster": str(cluster.pk),
        "name": "shop",
        **ASKED,
        "pooler": str(pooler.pk),
        "drop_on_return": True,
        "claimed_at": None,
        "claimed_by": None,
        "tags": [],
    }
    assert admin.get(f"{URL}{cluster.pk}/").json() == answer.json()
    assert admin.get(URL, {"claimed_at__isnull": "true"}).json()["count"] == 1


def test_bad_values_are_named_by_field(admin, cluster, pool, entry):
    for change, field in (
        ({"size": "no space"}, "size"),
        ({"region": ""}, "region"),
        ({"region": "NYC1"}, "region"),
        ({"color": "red"}, "color"),
    ):
        answer = admin.patch(url_of(entry), change)
        assert (answer.status_code, list(answer.json())) == (400, [field])
    assert list(admin.post(URL, ASKED | {"cluster": cluster.pk}).json()) == ["cluster"]
    used = make_cluster("used")
    make_pool(used, pool.pooler, "busy")
    assert "busy" in admin.post(URL, ASKED | {"cluster": used.pk}).json()["cluster"][0]
    other = make_cluster("other")
    assert list(admin.patch(url_of(entry), {"cluster": other.pk}).json()) == ["cluster"]


def test_an_entry_is_changed_and_taken_off(admin, entry):
    assert admin.patch(url_of(entry), {"region": "ams3"}).json()["region"] == "ams3"
    assert admin.delete(url_of(entry)).status_code == 204
    assert (ShelfEntry.objects.exists(), Cluster.objects.exists()) == (False, True)


def test_a_claimed_cluster_stays(admin, entry):
    ShelfEntry.objects.update(claimed_at=timezone.now())
    answer = admin.delete(url_of(entry))
    assert (answer.status_code, "claimed" in answer.json()["detail"]) == (409, True)


def test_a_claimed_cluster_is_given_back(admin, entry):
    ShelfEntry.objects.update(claimed_at=timezone.now())
    answer = admin.post(f"{url_of(entry)}return/")
    assert (answer.status_code, answer.json()["claimed_at"]) == (200, None)
    assert admin.post(f"{url_of(entry)}return/").status_code == 409


def test_access(entry):
    assert anonymous().get(URL).status_code == 401
    assert bearer("read").get(URL).status_code == 200
    assert bearer("read", "apply").patch(url_of(entry), {"size": "x"}).status_code == 403
    assert bearer().get(f"{URL}00000000-0000-0000-0000-000000000000/").status_code == 404
    assert bearer().post(url_of(entry), {}).status_code == 405


def test_the_list_takes_as_many_queries_for_three_as_for_one(admin, entry):
    one = queries_of(admin, URL)
    for name in ("second", "third"):
        ShelfEntry.objects.create(cluster=make_cluster(name), name=name, **ASKED)
    assert queries_of(admin, URL) == one
