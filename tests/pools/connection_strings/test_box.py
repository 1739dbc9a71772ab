"""The box that says how to connect."""

import pytest
from django.http import QueryDict
from django.utils import timezone

from pools.connection_strings import box as connection_box
from pools.connection_strings.box import MASK, BoxChoices, Row
from pools.models import PoolState
from tests.pools.records import a_cluster, a_pool, a_pooler


def rows_of(box):
    return next(text.rows for text in box.endpoints[0]["texts"] if text.rows)


def test_a_masked_password_can_not_be_copied(db):
    box = connection_box.of_cluster(a_cluster("admin-secret"), BoxChoices())
    assert Row("Password", MASK, copyable=False) in rows_of(box)


def test_a_shown_password_can_be_copied(db):
    box = connection_box.of_cluster(a_cluster("admin-secret"), BoxChoices(reveal=True))
    assert Row("Password", "admin-secret") in rows_of(box)


def test_a_password_nobody_gave_is_said_to_be_unknown(db):
    pool = a_pool(cluster=a_cluster("admin-secret"), pooler=a_pooler(port=1), user="stranger")
    box = connection_box.of_pool(pool, BoxChoices(reveal=True))
    assert not box.knows_password
    assert Row("Password", "not known to the panel", copyable=False) in [
        row for endpoint in box.endpoints for text in endpoint["texts"] for row in text.rows
    ]


def test_both_ways_of_a_pool_carry_its_own_user(db):
    pool = a_pool(cluster=a_cluster("admin-secret"), pooler=a_pooler(port=1), user="app")
    box = connection_box.of_pool(pool, BoxChoices())
    assert [(key, target.endpoint.user, target.endpoint.database) for key, target in box.targets.items()] == [
        ("pooled", "app", pool.name),
        ("direct", "app", "shop"),
    ]


def test_the_choices_of_the_form_are_read_back(db):
    shown = BoxChoices.chosen(QueryDict("reveal=1&endpoint=direct&as-pooled=psql&as-direct=env"))
    assert shown == BoxChoices(True, "direct", (("pooled", "psql"), ("direct", "env")))
    box = connection_box.of_pool(a_pool(pooler=a_pooler(port=1)), shown)
    assert [(endpoint["selected"], endpoint["shown_as"]) for endpoint in box.endpoints] == [
        (False, "psql"),
        (True, "env"),
    ]


def test_an_endpoint_nobody_knows_is_the_first_one(db):
    assert connection_box.of_pool(a_pool(pooler=a_pooler(port=1)), BoxChoices(target="nowhere")).endpoint == "pooled"


@pytest.mark.parametrize(
    ("version", "mode", "says"),
    [
        ("PgBouncer 1.18.0", "transaction", "Turn prepared statements off in the driver: PgBouncer 1.18 keeps none."),
        ("PgBouncer 1.24.1", "transaction", "kept while max_prepared_statements is above 0."),
        ("PgBouncer 1.18.0", "session", "a connected client holds one of the pool's server connections."),
    ],
)
def test_the_note_says_what_becomes_of_prepared_statements_in_this_release(db, version, mode, says):
    pool = a_pool(pooler=a_pooler(port=1, server_version=version), mode=mode)
    note = connection_box.of_pool(pool, BoxChoices()).targets["pooled"].note
    assert note.endswith(says)


def test_a_pool_of_inbound_users_is_shown_for_no_role_or_for_the_one_chosen(db):
    pool = a_pool(cluster=a_cluster("admin-secret"), pooler=a_pooler(port=1), user="")
    pool.cluster.keep_password("app", "app-secret")
    for asked in ("", "postgres"):
        box = connection_box.of_pool(pool, BoxChoices(reveal=True, role=asked))
        note = box.targets["pooled"].note
        assert note.startswith("Each role logs in as itself: replace YOUR_ROLE with")
        assert (box.roles, box.role, box.knows_password) == (["app"], "", False)
    box = connection_box.of_pool(pool, BoxChoices(reveal=True, role="app"))
    assert [(target.endpoint.user, target.endpoint.password) for target in box.targets.values()] == [
        ("app", "app-secret")
    ] * 2


def test_a_pool_refused_before_it_was_ever_live_is_shown_its_cluster_only(db):
    pool = a_pool(cluster=a_cluster("admin-secret"), pooler=a_pooler(port=1), state=PoolState.ROLLED_BACK)
    box = connection_box.of_pool(pool, BoxChoices())
    assert [(key, target.endpoint.database) for key, target in box.targets.items()] == [("direct", "shop")]
    assert box.endpoints[0]["note"].startswith(f"Pool {pool} was refused before it was ever live")
    pool.applied_at = timezone.now()  # its older spec is live
    assert list(connection_box.of_pool(pool, BoxChoices()).targets) == ["pooled", "direct"]
