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
    for as_ in connection_box.FRAMEWORKS:
        assert f'data-connection-text="pooled-{as_}"' in page
        assert f'data-connection-text="direct-{as_}"' in page
    assert "jdbc:postgresql://127.0.0.1:6000/web?user=app<" in page
    assert "role-secret" not in page
    assert checked(page) == ["pooled", "pooled-uri", "pooled-django", "direct-uri", "direct-django"]


def test_every_format_of_the_box_has_a_name_and_a_text():
    offered = {*connection_box.FOR_POOL, *connection_box.FOR_CLUSTER, *connection_box.FRAMEWORKS}
    assert offered <= set(connection_box.LABELS)
    assert offered - {connection_box.PARAMETERS, connection_box.FRAMEWORK} <= set(connection_strings.FORMATS)


def test_the_chosen_framework_stays_chosen_when_the_password_is_shown(staff, pool):
    chosen = {"endpoint": "direct", "as-direct": "framework", "as-direct-framework": "rails", "reveal": "1"}
    page = staff.post(f"/pools/{pool.pk}/connection/", chosen, headers={"HX-Request": "true"}).content.decode()
    assert checked(page) == ["pooled-uri", "pooled-django", "direct", "direct-framework", "direct-rails"]
    assert "  password: &quot;role-secret&quot;" in page


def test_a_framework_is_copied_with_its_password(staff, pool):
    answer = staff.post(f"/pools/{pool.pk}/connection/", {"as": "sqlalchemy", "endpoint": "pooled"})
    assert answer.content.decode() == "postgresql+psycopg://app:role-secret@127.0.0.1:6000/web"
