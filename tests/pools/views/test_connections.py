"""The connection box of a pool's page."""

import re

import pytest

from pools import connection_box, connection_strings
from tests.pools.records import a_cluster, a_pool, a_pooler, know_password


@pytest.fixture
def pool(db):
    cluster = a_cluster("admin-secret")
    know_password(cluster, "app", "role-secret")
    return a_pool(name="web", cluster=cluster, pooler=a_pooler(port=6000), database="shop", user="app")


def checked(page):
    return re.findall(r'id="(?:as|endpoint)-([\w-]+)" checked', page)


def test_every_framework_stands_on_the_page_of_a_pool_without_the_password(staff, pool):
    page = staff.get(f"/pools/{pool.pk}/").content.decode()
    for as_ in (one for group in connection_box.GROUPS.values() for one in group):
        assert f'data-connection-text="pooled-{as_}"' in page
        assert f'data-connection-text="direct-{as_}"' in page
    assert "jdbc:postgresql://127.0.0.1:6000/web?user=app<" in page
    assert "role-secret" not in page
    chosen = ["pooled", "pooled-uri", "pooled-pgpass", "pooled-django", "direct-uri", "direct-pgpass", "direct-django"]
    assert checked(page) == chosen


def test_every_format_of_the_box_has_a_name_and_a_text():
    grouped = {one for group in connection_box.GROUPS.values() for one in group}
    alone = {*connection_box.TABS, *connection_box.FOR_CLUSTER} - set(connection_box.GROUPS)
    assert {*grouped, *alone, *connection_box.GROUPS} == set(connection_box.LABELS)
    assert grouped | (alone - {connection_box.PARAMETERS}) == set(connection_strings.FORMATS)


def test_the_chosen_framework_stays_chosen_when_the_password_is_shown(staff, pool):
    chosen = {"endpoint": "direct", "as-direct": "framework", "as-direct-framework": "rails", "reveal": "1"}
    page = staff.post(f"/pools/{pool.pk}/connection/", chosen, headers={"HX-Request": "true"}).content.decode()
    assert [one for one in checked(page) if "pgpass" not in one] == [
        "pooled-uri", "pooled-django", "direct", "direct-framework", "direct-rails"
    ]  # fmt: skip
    assert "  password: &quot;role-secret&quot;" in page


def test_a_framework_is_copied_with_its_password(staff, pool):
    answer = staff.post(f"/pools/{pool.pk}/connection/", {"as": "sqlalchemy", "endpoint": "pooled"})
    assert answer.content.decode() == "postgresql+psycopg://app:role-secret@127.0.0.1:6000/web"


def test_a_standby_is_offered_beside_the_primary_once_one_is_known(staff, pool):
    assert "Standby" not in staff.get(f"/pools/{pool.pk}/").content.decode()
    node = pool.cluster.nodes.create(host="standby.example", port=5433)
    node.record(state="online", in_recovery=True)
    for url in (f"/pools/{pool.pk}/", f"/clusters/{pool.cluster_id}/"):
        page = staff.get(url).content.decode()
        assert 'data-connection-text="standby-uri"' in page
        assert "@standby.example:5433/" in page
