"""The list of runs and the form that starts them."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from benchmarks.models import Purpose, Run, Status
from benchmarks.results import annotations
from benchmarks.runs.submission import submit as submitting
from benchmarks.runs.submission.submit import Placement
from pools.models import PoolState
from tests.benchmarks.records import a_finished_run, a_run
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler, checked

LIST, CREATE, PREVIEW = "/runs/", "/runs/new/", "/runs/new/preview/"


def typed(**fields):
    """The form as a browser sends it, with the defaults of its fields."""
    defaults = {"route": "pooled", "builtin": "select-only", "clients": "10", "threads": "2", "duration": "30"}
    return defaults | {"progress": "1", "protocol": "simple", "transactions": ""} | fields


def numbers(response):
    return [run.number for run in response.context["page"]]


@pytest.mark.parametrize("path", [LIST, CREATE, PREVIEW, "/runs/compare/", "/runs/import/", "/datasets/"])
def test_strangers_are_sent_to_the_login(db, client, path):
    assert client.get(path).url == f"{reverse('login')}?next={path}"


def test_an_empty_list_says_the_next_step(staff):
    answer = page_of(staff.get(LIST))
    assert "No runs yet" in answer
    assert f'href="{CREATE}"' in answer


def test_the_list_shows_figures_with_the_exact_value_in_the_tooltip(staff):
    a_finished_run(name="before tuning", target_label="shop on bouncer")
    answer = page_of(staff.get(LIST))
    assert "before tuning" in answer
    assert "shop on bouncer" in answer
    assert 'title="6396.18 tps">6,396</td>' in answer
    assert "<polyline" in answer


def test_filters_stand_in_the_address(staff):
    done, queued = a_finished_run(), a_run()
    imported = a_finished_run(purpose=Purpose.IMPORT, name="db7")
    assert numbers(staff.get(LIST)) == [imported.number, queued.number, done.number]
    assert numbers(staff.get(LIST, {"status": "queued"})) == [queued.number]
    assert numbers(staff.get(LIST, {"purpose": "import", "status": ""})) == [imported.number]
    assert numbers(staff.get(LIST, {"validity": "valid", "q": "db7"})) == [imported.number]
    assert numbers(staff.get(LIST, {"q": str(queued.number)})) == [queued.number]


def test_runs_of_one_pool_or_cluster(staff):
    pool = a_pool()
    pooled, direct = a_run(pool=pool, cluster=pool.cluster), a_run(cluster=pool.cluster)
    a_run()
    assert numbers(staff.get(LIST, {"target": pool.pk})) == [pooled.number]
    answer = staff.get(LIST, {"target": pool.cluster.pk})
    assert numbers(answer) == [direct.number, pooled.number]
    assert f"Only runs against <strong>{pool.cluster}</strong>" in page_of(answer)


def test_nonsense_in_the_address_is_no_error(staff):
    run = a_run()
    answer = staff.get(LIST, {"status": "wandering", "target": "x", "page": "-4", "q": "9" * 40})
    assert answer.status_code == 200
    assert numbers(staff.get(LIST, {"status": "wandering"})) == [run.number]


def test_nothing_found_offers_all_runs(staff):
    a_run()
    assert "No run matches" in page_of(staff.get(LIST, {"q": "nowhere"}))


def test_the_list_takes_the_same_queries_for_one_run_and_for_three(staff):
    pool = a_pool()
    a_finished_run(pool=pool, cluster=pool.cluster)
    one = queries_of(staff, LIST)
    for _ in range(2):
        other = a_pool()
        a_finished_run(pool=other, cluster=other.cluster)
    assert queries_of(staff, LIST) == one


def test_readers_see_the_list_but_not_the_form(reader):
    assert reader.get(LIST).status_code == 200
    assert reader.get(CREATE).status_code == 403
    assert reader.post(CREATE, typed()).status_code == 403


def test_the_form_shows_each_option_with_its_flag(staff):
    a_cluster()
    answer = page_of(staff.get(CREATE))
    for label, flag in [("Clients", "-c"), ("Duration", "-T"), ("Rate", "-R"), ("Protocol", "-M")]:
        assert f'{label} <code class="pd-flag">{flag}</code>' in answer


def test_a_chosen_pool_or_cluster_fills_the_form(staff):
    pool, cluster = a_pool(), a_cluster()
    form = staff.get(CREATE, {"pool": pool.pk}).context["form"]
    assert (form["route"].value(), str(form["pool"].value())) == ("pooled", str(pool.pk))
    form = staff.get(CREATE, {"cluster": cluster.pk, "database": "shop"}).context["form"]
    assert (form["route"].value(), form["database"].value()) == ("direct", "shop")


def test_the_preset_needs_no_field(staff):
    pool = a_pool(state=PoolState.APPLIED)
    form = staff.get(CREATE, {"preset": "worth"}).context["form"]
    assert (form["route"].value(), form["pool"].value(), form["connect"].value()) == ("both", pool.pk, True)
    assert form["repeat"].value() == 3  # A verdict needs this many of each.


def test_a_clone_starts_from_the_options_of_the_run(staff):
    pool = a_pool()
    run = a_run(pool=pool, cluster=pool.cluster, options={"clients": 77, "builtin": "tpcb-like"})
    form = staff.get(CREATE, {"clone": run.pk}).context["form"]
    assert (form["clients"].value(), form["builtin"].value(), form["pool"].value()) == (77, "tpcb-like", pool.pk)
    assert staff.get(CREATE, {"clone": uuid4()}).status_code == 404
    assert staff.get(CREATE, {"clone": "x"}).status_code == 404


def test_bad_input_is_named_beside_its_field_and_stays_typed(staff):
    pool = a_pool()
    answer = staff.post(CREATE, typed(pool=pool.pk, clients="ten", threads="0", duration="99999999"))
    form = answer.context["form"]
    assert form.errors["clients"] == ["'ten' is not a whole number: use 1 to 10,000"]
    assert form.errors["threads"] == ["0 is out of range: use 1 to 256"]
    assert form.errors["duration"] == ["99,999,999 is out of range: use 1 to 86,400 s"]
    assert 'value="ten"' in page_of(answer)
    assert Run.objects.count() == 0


def test_wrong_folded_options_are_unfolded(staff):
    answer = staff.post(CREATE, typed(pool=a_pool().pk, rate="-1"))
    assert '<details class="card run-more" open>' in page_of(answer)


def test_each_way_asks_for_its_own_target(staff):
    form = staff.post(CREATE, typed(route="pooled")).context["form"]
    assert form.errors == {"pool": ["pool is needed: enter it"]}
    form = staff.post(CREATE, typed(route="direct")).context["form"]
    assert form.errors == {"cluster": ["cluster is needed: enter it"], "database": ["database is needed: enter it"]}


def test_a_pool_that_is_not_live_is_refused_beside_its_field(staff):
    pool = a_pool(state=PoolState.PENDING)
    form = staff.post(CREATE, typed(pool=pool.pk)).context["form"]
    assert form.errors == {"pool": [f"pool {pool.name} is not live (pending): apply it first"]}


def test_an_unreachable_cluster_is_told_and_nothing_typed_is_lost(staff):
    cluster = a_cluster()
    answer = staff.post(CREATE, typed(route="direct", cluster=cluster.pk, database="shop", clients="33"))
    assert "connection refused" in answer.context["form"].non_field_errors()[0]
    assert 'value="33"' in page_of(answer)
    assert Run.objects.count() == 0


def test_a_writing_script_on_a_protected_cluster_asks_for_the_name(staff):
    cluster = a_cluster(protected=True)
    form = staff.post(CREATE, typed(route="direct", cluster=cluster.pk, database="shop", builtin="tpcb-like")).context[
        "form"
    ]
    assert "type the database's name, shop" in form.non_field_errors()[0]


def test_the_preview_is_the_exact_command_without_a_password(staff):
    cluster = a_cluster(name="demo", admin_password="canary-secret")
    answer = staff.get(PREVIEW, typed(route="direct", cluster=cluster.pk, database="my shop", clients="12"))
    [(endpoint_kind, line)] = answer.context["commands"]
    assert endpoint_kind == "direct"
    assert line.startswith("pgbench -n -b select-only -c 12 -j 2 -T 30 -P 1")
    assert "dbname='\"'\"'my shop'\"'\"'" in line
    assert "canary-secret" not in page_of(answer)


def test_the_preview_of_a_pair_shows_both_commands(staff):
    pool = a_pool(state=PoolState.APPLIED)
    targets = [
        endpoint_kind for endpoint_kind, _ in staff.get(PREVIEW, typed(route="both", pool=pool.pk)).context["commands"]
    ]
    assert targets == ["direct", "pooled"]


def test_the_preview_of_a_sweep_shows_the_step_with_the_most_clients(staff):
    cluster = a_cluster()
    asked = typed(route="direct", cluster=cluster.pk, database="shop", clients="1", threads="4", sweep_clients="1, 8 4")
    answer = staff.get(PREVIEW, asked)
    [(_kind, line)] = answer.context["commands"]
    assert line.startswith("pgbench -n -b select-only -c 8 -j 4")
    assert "The sweep runs it with 1, 8, 4 clients; this is the step with the most." in page_of(answer)


@pytest.mark.parametrize(
    ("clients", "reason"),
    [
        ("1; 2", "give whole numbers of clients with commas between them, such as 1, 2, 4, 8"),
        ("4", "give 2 to 12 different numbers of clients"),
        ("2, 2", "give 2 to 12 different numbers of clients"),
    ],
)
def test_a_sweep_that_can_not_be_run_is_refused_beside_its_field(staff, clients, reason):
    pool = a_pool(state=PoolState.APPLIED)
    answer = staff.post(CREATE, typed(pool=pool.pk, sweep_clients=clients))
    assert answer.context["form"].errors == {"sweep_clients": [reason]}
    assert f'value="{clients}"' in page_of(answer)
    assert Run.objects.count() == 0


def test_the_preview_names_what_is_wrong(staff):
    answer = staff.get(PREVIEW, typed(pool=a_pool().pk, clients="1", threads="4"))
    assert "4 threads are more than 1 clients: use at most 1" in page_of(answer)


def test_the_facts_of_an_unreachable_target_say_why(staff):
    cluster = a_cluster()
    checked(cluster)
    answer = staff.get(PREVIEW, typed(part="facts", route="direct", cluster=cluster.pk, database="shop"))
    assert "connection refused" in page_of(answer)
    assert '<option value="shop">' in page_of(answer)


def test_the_facts_of_a_pool_lead_to_the_sweep_over_its_size(staff):
    pool = a_pool(state=PoolState.APPLIED)
    checked(pool.cluster)
    link = f'href="{reverse("advice-ask", args=[pool.pk])}"'
    assert link in page_of(staff.get(PREVIEW, typed(part="facts", pool=pool.pk)))
    direct = typed(part="facts", route="direct", cluster=pool.cluster.pk, database="shop")
    assert link not in page_of(staff.get(PREVIEW, direct))


def test_the_form_lists_pools_with_the_same_queries_for_one_and_three(staff):
    a_pool()
    one = queries_of(staff, CREATE)
    a_pool(), a_pool()
    assert queries_of(staff, CREATE) == one


def test_run_again_that_is_refused_leads_to_the_form_with_the_reason(staff):
    cluster = a_cluster()
    run = a_finished_run(cluster=cluster)
    answer = staff.post(f"/runs/{run.pk}/again/", follow=True)
    assert answer.redirect_chain == [(f"{CREATE}?clone={run.pk}", 302)]
    assert f"Run {run.number} was not started again: connection refused" in page_of(answer)
    assert answer.context["form"]["database"].value() == "shop"


@pytest.fixture
def accepted(monkeypatch):
    """What the form asked for, without a server."""
    asked = []

    def submit(request):
        asked.append(request)
        return [a_run(name=request.name, **({"pk": request.run_id} if request.run_id else {}))]

    monkeypatch.setattr(submitting, "submit", submit)
    return asked


def test_tags_are_given_where_the_run_is_started(staff, accepted):
    typed_in = typed(route="direct", cluster=a_cluster().pk, database="shop", tags="nightly, pg16, nightly")
    assert staff.post(CREATE, typed_in).status_code == 302
    assert [asked.tags for asked in accepted] == [["nightly", "pg16"]]


def test_a_form_that_is_sent_twice_starts_one_run(staff, accepted):
    filled_in = typed(route="direct", cluster=a_cluster().pk, database="shop", page=uuid4().hex)
    first, second = staff.post(CREATE, filled_in), staff.post(CREATE, filled_in, follow=True)
    run = Run.objects.get()
    assert (first.status_code, first["Location"], len(accepted)) == (302, f"/runs/{run.pk}/", 1)
    assert f"Duplicate submission ignored: run {run.number} had already been started." in page_of(second)
    assert staff.post(CREATE, filled_in | {"clients": "11"}).status_code == 302
    assert staff.post(CREATE, filled_in | {"page": uuid4().hex}).status_code == 302
    assert len(accepted) == 3


def test_each_page_of_the_form_has_a_name_of_its_own_and_keeps_it_with_what_was_typed(staff):
    pages = [staff.get(CREATE).context["form"]["page"].value() for _ in range(2)]
    assert len(set(pages)) == 2
    wrong = staff.post(CREATE, typed(page=pages[0], clients="none"))
    assert f'name="page" value="{pages[0]}"' in page_of(wrong)


def test_run_again_pressed_twice_starts_one_run(staff, accepted):
    first = a_finished_run(cluster=a_cluster())
    staff.post(f"/runs/{first.pk}/again/")
    staff.post(f"/runs/{first.pk}/again/")
    assert len(accepted) == 1


def test_run_again_asks_for_all_that_the_first_asked_for_but_its_note(staff, accepted):
    cluster, limits = a_cluster(), [{"metric": "tps", "at_least": 5.0}]
    named = {"name": "nightly", "role": "app", "wanted_generators": ["east", "west"], "alongside": True}
    first = a_finished_run(cluster=cluster, thresholds=limits, **named)
    annotations.annotate(first, note="before the upgrade", tags=["pg16"])
    staff.post(f"/runs/{first.pk}/again/")
    [asked] = accepted
    assert asked.target == {"cluster": str(cluster.pk), "database": "shop", "user": "app"}
    assert asked.place == Placement(["east", "west"], alongside=True)
    assert (asked.options, asked.thresholds, asked.name) == (first.options, limits, "nightly")
    again = Run.objects.exclude(pk=first.pk).get()
    assert (asked.tags, again.note) == (["pg16"], "")


@pytest.fixture(params=["pool", "cluster"])
def orphan(request):
    """A pooled run whose pool was removed, or with it the cluster; and what is told of it."""
    pool = a_pool(name="web", pooler=a_pooler(name="front"))
    values = {"cluster": pool.cluster, "pool": pool, "pooled": True, "target_label": "web on front"}
    made = a_finished_run(**values)
    pool.delete()
    if request.param == "cluster":
        pool.cluster.delete()
    made.refresh_from_db()
    return made


def test_a_removed_pool_is_named_wherever_the_run_is_shown(staff, orphan):
    direct = a_finished_run(cluster=orphan.cluster)
    page = page_of(staff.get(f"/runs/{orphan.pk}/"))
    assert "pool web on front, removed since" in page
    assert f"/runs/{orphan.pk}/again/" not in page
    assert ">removed since<" in page_of(staff.get(LIST))
    compared = page_of(staff.get(f"/runs/compare/?run={orphan.pk}&run={direct.pk}"))
    assert "pool web on front, removed since" in compared
    for kind in ("csv", "json", "html", "log"):
        text = b"".join(staff.get(f"/runs/{orphan.pk}/export/{kind}/").streaming_content).decode()
        assert ("pool web on front" in text) == (kind in ("json", "html"))


def test_a_run_whose_pool_is_gone_is_not_started_past_it(staff, orphan, accepted):
    for answer in (
        staff.post(f"/runs/{orphan.pk}/again/", follow=True),
        staff.get(CREATE, {"clone": orphan.pk}),
    ):
        described = (
            f"Run {orphan.number} can&#x27;t be started again: pool web on front was removed since: choose what to load"
        )
        assert described in page_of(answer)
        assert answer.context["form"]["route"].value() == "pooled"
    assert accepted == []


def test_a_removed_cluster_is_named_too(staff):
    run = a_finished_run(target_label="db7/shop")
    assert "cluster db7, removed since" in page_of(staff.get(f"/runs/{run.pk}/"))
    assert "cluster db7 was removed since" in page_of(staff.get(CREATE, {"clone": run.pk}))


@pytest.mark.parametrize("act", ["cancel", "again"])
def test_changes_need_a_post_by_staff_with_a_known_run(staff, reader, act):
    run = a_run()
    assert staff.get(f"/runs/{run.pk}/{act}/").status_code == 405
    assert reader.post(f"/runs/{run.pk}/{act}/").status_code == 403
    assert Client().post(f"/runs/{run.pk}/{act}/").status_code == 302
    assert staff.post(f"/runs/{uuid4()}/{act}/").status_code == 404
    run.refresh_from_db()
    assert run.status == Status.QUEUED
