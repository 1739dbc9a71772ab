"""Poolers whose pools can have one name and one size only: who leaves them out gets them."""

import pytest

from pools.models import Mode, Pool
from tests.pools.api.conftest import make_pooler
from tests.pools.api.test_pools import URL

CHILDREN = {"num_init_children": 12, "max_pool": 1}


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ({"kind": "pgpool", "facts": CHILDREN, "pcp_port": 9898}, 12),
        ({"kind": "haproxy", "settings": {"maxconn": 40}}, 40),
    ],
)
def test_name_and_size_are_filled_in_where_only_one_is_possible(admin, cluster, fields, size):
    pooler = make_pooler(name="middle", **fields)
    asked = {"pooler": pooler.pk, "cluster": cluster.pk, "database": "app", "mode": "session"}
    answer = admin.post(URL, asked)
    assert (answer.status_code, answer.json().get("name"), answer.json().get("size")) == (201, "app", size)
    again = admin.put(f"{URL}{answer.json()['id']}/", asked)
    assert (again.status_code, again.json()["name"]) == (200, "app")
    Pool.objects.all().delete()
    refused = admin.post(URL, asked | {"name": "other", "size": 3})
    assert (refused.status_code, {"name", "size"} & set(refused.json())) == (400, {"name", "size"})


def test_a_pgbouncers_pool_needs_a_name(admin, cluster, pooler):
    asked = {"pooler": pooler.pk, "cluster": cluster.pk, "database": "app", "mode": Mode.SESSION, "size": 3}
    answer = admin.post(URL, asked)
    assert (answer.status_code, list(answer.json())) == (400, ["name"])
