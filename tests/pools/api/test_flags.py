"""Yes and no in query strings, in each word for it."""

import pytest

from tests.callers import bearer
from tests.pools.api.test_pools import url_of

YES, NO = ("1", "true", "True", "yes", "on"), ("", "0", "false", "no")


@pytest.mark.parametrize("word", YES)
def test_every_word_for_yes_reveals_and_needs_the_right_to(admin, pool, word):
    pool.cluster.admin_password = "cluster-secret"
    pool.cluster.save()
    asked = {"reveal": word}
    for url in (f"{url_of(pool)}connection/", f"/api/v1/clusters/{pool.cluster_id}/connection/"):
        assert bearer("read", "run", "apply").get(url, asked).status_code == 403
    assert "cluster-secret" in admin.get(url, asked).json()["text"]


@pytest.mark.parametrize("word", NO)
def test_every_word_for_no_needs_no_right(pool, word):
    for url in (f"{url_of(pool)}connection/", f"/api/v1/clusters/{pool.cluster_id}/connection/"):
        assert bearer("read").get(url, {"reveal": word}).status_code == 200
