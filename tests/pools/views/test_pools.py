"""The pages of pools."""

import re

import pytest
from django.utils import timezone

from pools.forms.pools import PoolForm
from pools.models import Cluster, Pool, PoolerState, PoolState, Revision
from tests.callers import of_an_admin, queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler, checked, know_password


@pytest.fixture
def place(db):
    """A checked cluster whose role app is known, and a pooler; as the form posts them."""
    cluster, pooler = a_cluster(name="orders"), a_pooler(name="edge", port=1)
    checked(cluster)
    know_password(cluster, "app", "known-secret")
    return {"cluster": str(cluster.pk), "pooler": str(pooler.pk)}


def typed(place, **values):
    return place | {"name": "web", "database": "shop", "user": "app", "mode": "transaction", "size": "10"} | values


def test_the_list_shows_each_pool(staff):
    a_pool(name="web", pooler=a_pooler(name="edge", port=1), user="")
    page = page_of(staff.get("/pools/"))
    for words in ("web", "on edge", "the inbound user", "Transaction", "pending"):
        assert words in page


def test_a_row_of_the_list_takes_few_bytes(staff):
    """A page has fifty, and asks for all of them again every five seconds."""
    pooler, cluster = a_pooler(port=1), a_cluster()
    sizes = []
    for count in (1, 10):
        for _nth in range(count):
            a_pool(pooler=pooler, cluster=cluster, state=PoolState.APPLIED)
        sizes.append(len(staff.get("/pools/").content))
    assert sizes[1] - sizes[0] < 10 * 1_150


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=we", ["web"]),
        ("state=applied", ["live"]),
        ("cluster=orders", ["web"]),
        ("pooler=edge", ["web"]),
        ("q=x", []),
    ],
)
def test_the_list_is_filtered_by_its_address(staff, query, found):
    a_pool(name="web", cluster=a_cluster(name="orders"), pooler=a_pooler(name="edge", port=1))
    a_pool(name="live", state=PoolState.APPLIED, pooler=a_pooler(port=1))
    assert [row["pool"].name for row in staff.get(f"/pools/?{query}").context["rows"]] == found


def test_the_list_costs_the_same_with_one_and_three_rows(staff):
    pooler, cluster = a_pooler(port=1), a_cluster()
    a_pool(pooler=pooler, cluster=cluster)
    once = queries_of(staff, "/pools/")
    a_pool(pooler=pooler, cluster=cluster), a_pool(pooler=pooler, cluster=cluster)
    assert queries_of(staff, "/pools/") == once


@pytest.mark.parametrize(
    ("there", "next_step"),
    [((), "Register a cluster"), ((a_cluster,), "Register a pooler"), ((a_cluster, a_pooler), "Make the first pool")],
)
def test_an_empty_list_says_the_next_step(staff, there, next_step):
    for make in there:
        make()
    assert next_step in page_of(staff.get("/pools/"))


def test_the_form_fills_its_pickers_from_the_last_check_without_asking(staff, place):
    answer = staff.get(f"/pools/new/?cluster={place['cluster']}&name=web")
    form = answer.context["form"]
    assert form["name"].value() == "web"
    assert [value for value, _ in form.fields["database"].widget.choices] == ["", "postgres", "shop"]
    assert [value for value, _ in form.fields["user"].widget.choices] == ["", "app", "postgres"]
    assert answer.context["budget"].free == 97


def test_the_only_cluster_is_chosen_already(staff, place):
    assert str(staff.get("/pools/new/").context["chosen_cluster"].pk) == place["cluster"]


def test_choosing_a_cluster_keeps_what_was_typed(staff, place):
    answer = staff.post("/pools/choices/?ask", typed(place, size="7", user="nobody", user_password="typed-secret"))
    form = answer.context["form"]
    assert (form["size"].value(), form["database"].value(), form["user"].value()) == ("7", "shop", "nobody")
    page = page_of(answer)
    assert "nobody (not found at the last check)" in page
    assert "connection refused: nothing listens at 127.0.0.1:1" in page
    assert 'value="typed-secret"' in page


@pytest.mark.parametrize(("user", "asks"), [("app", False), ("postgres", False), ("stranger", True), ("", False)])
def test_the_password_is_asked_for_only_when_it_is_not_known(staff, place, user, asks):
    answer = staff.post("/pools/choices/", typed(place, user=user))
    assert answer.context["form"].asks_password is asks


def test_nonsense_in_the_address_chooses_nothing(staff, place):
    assert staff.get("/pools/new/?cluster=nonsense&pool=nonsense").context["chosen_cluster"] is None


def test_without_javascript_a_button_fills_the_pickers(staff, place):
    answer = staff.post("/pools/new/", typed(place, refill="1"))
    assert answer.context["form"].errors == {}
    assert answer.context["form"]["name"].value() == "web"
    assert not Pool.objects.exists()


def test_is_it_worth_it_leads_to_an_experiment_where_a_pool_can_be_made_for_it(staff):
    pool = a_pool(pooler=a_pooler(port=1), state=PoolState.APPLIED)
    assert f'href="/experiments/advice/{pool.pk}/?question=pooling"' in page_of(staff.get(f"/pools/{pool.pk}/"))
    pool = a_pool(pooler=a_pooler(port=2, kind="pgpool"), state=PoolState.APPLIED)
    assert f'href="/runs/new/?pool={pool.pk}&amp;preset=worth"' in page_of(staff.get(f"/pools/{pool.pk}/"))


def test_a_pool_is_made_and_its_page_shows_it_pending(staff, place, asked):
    answer = staff.post("/pools/new/", typed(place))
    pool = Pool.objects.get()
    assert answer.url == f"/pools/{pool.pk}/"
    assert (pool.name, pool.size, pool.state) == ("web", 10, PoolState.PENDING)
    assert asked() == [place["pooler"]]
    assert "being applied to edge" in page_of(staff.get(answer.url))


def test_a_size_over_the_budget_is_refused_with_the_figures_and_all_typed_stays(staff, place):
    answer = staff.post("/pools/new/", typed(place, size="98", mode="session"))
    form = answer.context["form"]
    assert form.errors == {
        "size": ["size 98 is over the budget of cluster orders: 97 available, 0 allocated to pools, 97 free"]
    }
    assert (form["name"].value(), form["database"].value(), form["mode"].value()) == ("web", "shop", "session")
    assert not Pool.objects.exists()


def test_a_reserve_beyond_the_budget_asks_for_the_clusters_name_too(staff, place):
    answer = staff.post("/pools/new/", typed(place, size="97", further_reserve_pool="5"))
    assert answer.context["over_budget"]


def test_choosing_a_pgpool_fixes_the_size_and_says_which_modes_it_has_not(staff, place):
    pgpool = a_pooler(name="spread", kind="pgpool", facts={"num_init_children": 8, "max_pool": 2})
    answer = staff.post("/pools/further/", typed(place, pooler=str(pgpool.pk), size="10"))
    page = page_of(answer)
    assert re.findall(r'id="(pool-\w+)"[^>]*hx-swap-oob', page) == ["pool-size", "pool-modes"]
    assert answer.context["form"]["size"].value() == 8
    assert 'data-takes="16"' in page
    assert [bool(card["refusal"]) for card in answer.context["mode_cards"]] == [False, True, True]
    assert "transaction mode needs a PgBouncer" in page


def test_a_second_pool_of_a_pgpool_takes_nothing_more_of_the_budget(staff, place):
    pgpool = a_pooler(
        name="spread", kind="pgpool", pcp_port=9898, facts={"num_init_children": 30, "max_pool": 2}, state="online"
    )
    cluster = Cluster.objects.get(pk=place["cluster"])
    first = a_pool(name="first", database="first", cluster=cluster, pooler=pgpool, size=30, mode="session")
    chosen = typed(place, pooler=str(pgpool.pk), name="shop", size="30", mode="session")
    for answer in (staff.post("/pools/further/", chosen), staff.post("/pools/choices/", chosen)):
        assert (answer.context["budget"].allocated, answer.context["takes"]) == (60, 0)  # 60 more would not fit in 97
        assert "It takes none of them itself" in page_of(answer)
    assert staff.get(f"/pools/{first.pk}/edit/").context["takes"] == 60  # the only one: it is all that is given
    made = staff.post("/pools/new/", chosen)
    assert (made.status_code, Pool.objects.get(name="shop").over_budget_by) == (302, "")
    again = staff.get(f"/pools/{first.pk}/edit/")
    assert (again.context["budget"].allocated, again.context["takes"]) == (60, 0)


def test_a_pool_through_a_pgpool_takes_nothing_of_the_budget_itself(staff, place):
    spread = a_pooler(name="spread", kind="pgpool")
    answer = staff.post("/pools/choices/", typed(place, through=str(spread.pk)))
    assert 'data-takes="0"' in page_of(answer)


def test_a_form_half_filled_names_each_field(staff, place):
    answer = staff.post("/pools/new/", place | {"name": "", "size": "many", "mode": "transaction"})
    assert answer.context["form"].errors == {
        "name": ["name is needed: enter it"],
        "database": ["database is needed: enter it"],
        "size": ["size must be a whole number: enter one such as 10"],
    }
    assert "3 fields need another value" in page_of(answer)


def test_the_note_of_the_password_stands_at_its_own_field_alone(staff, place):
    assert page_of(staff.get("/pools/new/")).count("Only needed for a user whose password") == 1


def test_values_that_no_pool_can_have_are_named_beside_the_missing_ones(staff, place):
    answer = staff.post("/pools/new/", typed(place, name="or ders", database="", user="u" * 64, size="0"))
    assert answer.context["form"].errors == {
        "name": ["'or ders' can't name a pool: use 1 to 63 of the letters a-z A-Z, digits, and _ . -"],
        "database": ["database is needed: enter it"],
        "user": [f"'{'u' * 64}' is 64 bytes long: PostgreSQL's names have at most 63"],
        "size": ["0 is not a pool size: enter 1 to 100000, within the cluster's budget"],
    }


def test_a_stale_edit_is_a_conflict_that_keeps_what_was_typed(staff, place, asked):
    staff.post("/pools/new/", typed(place))
    pool = Pool.objects.get()
    pool.edit(1, size=11)
    answer = staff.post(f"/pools/{pool.pk}/edit/", typed(place, size="12", version="1"))
    assert answer.status_code == 409
    assert answer.context["stale"] == [{"label": "Size", "yours": 12, "theirs": 11}]
    assert answer.context["form"]["size"].value() == "12"
    assert staff.post(f"/pools/{pool.pk}/edit/", typed(place, size="12", version="2")).status_code == 302
    pool.refresh_from_db()
    assert pool.size == 12


def test_a_pool_stays_where_it_is(staff, place, asked):
    staff.post("/pools/new/", typed(place))
    pool = Pool.objects.get()
    elsewhere = {"cluster": str(a_cluster().pk), "pooler": str(a_pooler().pk), "version": "1"}
    assert staff.post(f"/pools/{pool.pk}/edit/", typed(place, **elsewhere)).status_code == 302
    pool.refresh_from_db()
    assert (str(pool.cluster_id), str(pool.pooler_id)) == (place["cluster"], place["pooler"])


def test_a_pool_is_removed_after_a_confirmation(staff, asked):
    pool = a_pool(pooler=a_pooler(name="edge", port=1), size=1)
    page = page_of(staff.get(f"/pools/{pool.pk}/delete/"))
    assert "its 1 connection goes back to the budget of cluster" in page
    assert Pool.objects.wanted().exists()
    assert staff.post(f"/pools/{pool.pk}/delete/").url == "/pools/"  # its own page may be gone by then
    assert not Pool.objects.wanted().exists()
    assert "being removed" in page_of(staff.get(f"/pools/{pool.pk}/"))


def test_the_page_of_a_pool_gives_both_ways_without_the_password(staff, place):
    cluster = a_cluster("admin-secret", name="web-cluster")
    know_password(cluster, "app", "role-secret")
    pool = a_pool(name="web", cluster=cluster, pooler=a_pooler(port=6000), database="shop", user="app")
    page = page_of(staff.get(f"/pools/{pool.pk}/"))
    assert "postgresql://app@127.0.0.1:6000/web" in page
    assert "postgresql://app@127.0.0.1:1/shop" in page
    assert "role-secret" not in page
    assert "admin-secret" not in page


@pytest.mark.parametrize(
    ("endpoint", "uri"),
    [
        ("pooled", "postgresql://app:role-secret@127.0.0.1:6000/web"),
        ("direct", "postgresql://app:role-secret@127.0.0.1:1/shop"),
        ("", "postgresql://app:role-secret@127.0.0.1:6000/web"),
    ],
)
def test_one_text_is_copied_with_its_password(staff, caplog, endpoint, uri):
    cluster = a_cluster("admin-secret")
    know_password(cluster, "app", "role-secret")
    pool = a_pool(name="web", cluster=cluster, pooler=a_pooler(port=6000), database="shop", user="app")
    caplog.set_level("INFO", "pools.views.connections")
    answer = staff.post(f"/pools/{pool.pk}/connection/", {"as": "uri", "endpoint": endpoint})
    assert (page_of(answer), answer.headers["Content-Type"]) == (uri, "text/plain; charset=utf-8")
    assert "no-store" in answer.headers["Cache-Control"]
    assert f"the password of pool {pool.pk} was shown to" in caplog.text


def test_a_format_nobody_knows_is_refused(staff):
    pool = a_pool(pooler=a_pooler(port=1))
    assert staff.post(f"/pools/{pool.pk}/connection/", {"as": "carrier-pigeon"}).status_code == 400


def test_the_moving_card_asks_each_second_while_pending_and_then_for_figures_only(staff):
    pool = a_pool(pooler=a_pooler(port=1))
    moving = page_of(staff.get(f"/pools/{pool.pk}/live/?was=pending"))
    assert 'hx-trigger="every 1s"' in moving
    pool.edit(None, state=PoolState.APPLIED)
    settled = staff.get(f"/pools/{pool.pk}/live/?was=pending")
    assert settled.headers["HX-Retarget"] == "#pool-live"
    assert 'hx-trigger="every 1s"' not in page_of(settled)
    quiet = staff.get(f"/pools/{pool.pk}/live/?was=applied")
    assert "HX-Retarget" not in quiet.headers


def test_a_pool_whose_apply_has_not_begun_shows_no_steps_of_another(staff):
    pool = a_pool(pooler=a_pooler(port=1), state=PoolState.APPLIED)
    before = Revision.objects.draft(pool.pooler, {})
    before.note("logged in")
    pool.edit(None, state=PoolState.PENDING, size=3)
    assert "Revision 1 of" not in page_of(staff.get(f"/pools/{pool.pk}/live/"))
    Revision.objects.draft(pool.pooler, {}).note("rendered")
    assert "Revision 2 of" in page_of(staff.get(f"/pools/{pool.pk}/live/"))


def test_the_moving_card_shows_the_revision_and_ticks_only_proofs(staff):
    pool = a_pool(pooler=a_pooler(port=1), state=PoolState.APPLIED)
    revision = Revision.objects.draft(pool.pooler, {})
    for step in ("rendered", "writing", "reloaded", "read back", "logged in"):
        revision.note(step)
    page = page_of(staff.get(f"/pools/{pool.pk}/live/"))
    assert page.count("(verified)") == 2


def test_a_pool_whose_pooler_is_down_waits_and_says_why(staff):
    down = a_pooler(name="edge", port=1, state=PoolerState.UNREACHABLE, error="pooler edge can't be reached")
    pool = a_pool(pooler=down, state_reason="pooler edge can't be reached")
    page = page_of(staff.get(f"/pools/{pool.pk}/"))
    assert "Saved, and applied as soon as possible." in page
    assert "pooler edge can&#x27;t be reached" in page


def test_a_pool_that_is_gone_leads_its_watchers_to_the_list(staff):
    pool = a_pool(pooler=a_pooler(port=1), removal_requested_at=timezone.now())
    pk = pool.pk
    pool.delete()
    for card in ("live", "condition"):
        assert staff.get(f"/pools/{pk}/{card}/").headers["HX-Redirect"] == "/pools/"


def test_a_pool_that_was_rolled_back_is_tried_again_from_its_page(staff, asked):
    pool = a_pool(pooler=a_pooler(port=1), state=PoolState.ROLLED_BACK, state_reason="the login failed")
    assert f"/pools/{pool.pk}/retry/" in page_of(staff.get(f"/pools/{pool.pk}/"))
    assert staff.post(f"/pools/{pool.pk}/retry/").url == f"/pools/{pool.pk}/"
    pool.refresh_from_db()
    assert pool.state == PoolState.PENDING
    assert asked() == [str(pool.pooler_id)]


def further(answer):
    return [setting.name for setting, _ in answer.context["form"].further_rows]


def test_a_pool_is_offered_the_further_settings_of_its_poolers_release(staff):
    old, new = a_pooler(name="old", server_version="PgBouncer 1.18.0"), a_pooler(server_version="PgBouncer 1.24.1")
    a_cluster()
    assert "load_balance_hosts" not in further(staff.get(f"/pools/new/?pooler={old.pk}"))
    assert "load_balance_hosts" in further(staff.get(f"/pools/new/?pooler={new.pk}"))
    typed = {"pooler": str(new.pk), "further_connect_query": "SELECT 1"}
    answer = staff.post("/pools/further/", typed)
    assert "load_balance_hosts" in further(answer)
    assert 'value="SELECT 1"' in page_of(answer)


def test_further_settings_are_judged_beside_their_fields(staff):
    pool = a_pool(pooler=a_pooler(server_version="PgBouncer 1.18.0"), settings={"connect_query": "SELECT 1"})
    typed = {"version": 1, "database": "shop", "user": "app", "mode": "session", "size": "5"}
    answer = staff.post(f"/pools/{pool.pk}/edit/", typed | {"further_reserve_pool": "few"})
    form = answer.context["form"]
    assert form.errors["further_reserve_pool"] == ["reserve_pool='few' is not a whole number: enter one such as 10"]
    assert form["further_reserve_pool"].value() == "few"
    assert "<details" in page_of(answer)


def test_further_settings_are_saved_typed_and_shown(staff, asked):
    pool = a_pool(
        pooler=a_pooler(server_version="PgBouncer 1.18.0"), settings={"connect_query": "SELECT 1", "odd": "kept"}
    )
    know_password(pool.cluster, "app", "app-password")
    checked(pool.cluster)
    form = PoolForm(
        {
            "name": "web",
            "database": "shop",
            "user": "app",
            "mode": "session",
            "size": "5",
            "further_reserve_pool": " 3 ",
        },
        pool=pool,
        access=of_an_admin(),
    )
    assert form.is_valid(), form.errors
    assert form.values()["settings"] == {"odd": "kept", "reserve_pool": 3}
    page = page_of(staff.get(f"/pools/{pool.pk}/"))
    assert "<dt><code>connect_query</code></dt>" in page
    assert "unknown to this release" in page
