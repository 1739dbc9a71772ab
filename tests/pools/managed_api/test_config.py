"""PgBouncer's settings under /v2/, without a PgBouncer; with one: tests/live/v2."""

import pytest

from tests.pools.api.conftest import make_pooler
from tests.pools.managed_api.conftest import url_of
from tests.pools.managed_api.schema import check

pytestmark = pytest.mark.django_db


def patch(client, cluster, **config):
    return client.patch(url_of(cluster, "/config"), {"config": config})


def test_settings_are_changed_and_read_in_the_providers_types(admin, cluster, pooler, worker):
    asked = {
        "server_reset_query_always": True,
        "ignore_startup_parameters": ["extra_float_digits", "search_path"],
        "min_pool_size": 2,
        "server_lifetime": 7200,
        "server_idle_timeout": 0,
    }
    answer = patch(admin, cluster, pgbouncer=asked)
    assert (answer.status_code, check("config", answer.json())) == (200, {"config": {"pgbouncer": asked}})
    assert admin.get(url_of(cluster, "/config")).json() == answer.json()
    pooler.refresh_from_db()
    assert pooler.settings["ignore_startup_parameters"] == "extra_float_digits,search_path"


def test_absent_and_null_keys_stay(admin, cluster, pooler, worker):
    patch(admin, cluster, pgbouncer={"min_pool_size": 2, "server_lifetime": 7200})
    answer = patch(admin, cluster, pgbouncer={"min_pool_size": 3, "server_lifetime": None}, work_mem=None)
    assert answer.json() == {"config": {"pgbouncer": {"min_pool_size": 3, "server_lifetime": 7200}}}
    assert patch(admin, cluster).status_code == 200


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"work_mem": 64}, "work_mem"),
        ({"pgbouncer": {"autodb_pool_size": 5}}, "autodb_pool_size"),
        ({"pgbouncer": {"server_lifetime": "long"}}, "long"),
        ({"pgbouncer": {"min_pool_size": -1}}, "-1"),
        ({"pgbouncer": {"ignore_startup_parameters": "search_path"}}, "search_path"),
        ({"pgbouncer": []}, "[]"),
    ],
)
def test_other_settings_are_refused_and_named(admin, cluster, pooler, worker, config, words):
    answer = patch(admin, cluster, **config)
    assert answer.status_code == 422
    assert words in check("error", answer.json())["message"]
    pooler.refresh_from_db()
    assert pooler.settings == {}


def test_zeros_of_what_is_not_offered_ask_for_nothing(admin, cluster, pooler, worker):
    asked = {"min_pool_size": 2, "autodb_pool_size": 0, "autodb_pool_mode": "", "autodb_idle_timeout": 0}
    answer = patch(admin, cluster, pgbouncer=asked)
    assert (answer.status_code, answer.json()) == (200, {"config": {"pgbouncer": {"min_pool_size": 2}}})


def test_what_the_pooler_refuses_is_said_and_undone(admin, cluster, pooler, worker):
    patch(admin, cluster, pgbouncer={"server_lifetime": 7000})
    worker.refuse("server_lifetime is odd")
    answer = patch(admin, cluster, pgbouncer={"server_lifetime": 7200, "min_pool_size": 2})
    assert (answer.status_code, "server_lifetime is odd" in answer.json()["message"]) == (422, True)
    assert admin.get(url_of(cluster, "/config")).json() == {"config": {"pgbouncer": {"server_lifetime": 7000}}}
    worker.stop()
    assert patch(admin, cluster, pgbouncer={"server_lifetime": 7300}).status_code == 503


def test_without_a_pooler_there_are_no_settings(admin, cluster):
    assert admin.get(url_of(cluster, "/config")).json() == {"config": {}}
    assert patch(admin, cluster, pgbouncer={"min_pool_size": 2}).status_code == 422


def test_only_a_pgbouncer_has_them(admin, cluster, worker):
    make_pooler(kind="pgpool")
    assert admin.get(url_of(cluster, "/config")).json() == {"config": {}}
