"""The tags and filters of every page."""

from datetime import timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone

from panel.templatetags import pooldeck
from pools.forms.records import ClusterForm
from pools.inventory.budget import Budget
from pools.models import Cluster
from tests import callers
from tests.pages import page_of


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "–"), ("", "–"), (0, "0 bytes"), (1023, "1023 bytes"), (7_900_000, "7.5 MB"), (5 * 1024**5, "5120 TB")],
)
def test_sizes_are_written_as_postgresql_does(number, text):
    assert pooldeck.size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (0.5, "0.5 s"),
        (30, "30 s"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (11_405, "3 h 10 min"),
    ],
)
def test_durations_are_written_as_people_say_them(seconds, text):
    assert pooldeck.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "–"), ("", "–"), (12345.6, "12,346"), (812.44, "812.4"), (3.14159, "3.14"), (0.1669, "0.167"), (7.0, "7")],
)
def test_figures_keep_the_digits_that_matter(number, text):
    assert pooldeck.figure(number) == text


@pytest.mark.parametrize(
    ("ago", "text"),
    [(0, "just now"), (59, "59 seconds ago"), (60, "1 minute ago"), (7300, "2 hours ago"), (200_000, "2 days ago")],
)
def test_times_are_told_by_their_distance(ago, text):
    assert pooldeck.distance(ago) == text


def test_a_time_carries_its_date_and_zone():
    moment = timezone.now() - timedelta(minutes=5)
    written = pooldeck.when(moment)
    assert moment.strftime("%Y-%m-%d %H:%M:%S UTC") in written
    assert ">5 minutes ago<" in written
    assert (pooldeck.when(None), pooldeck.when("", "not yet")) == ("never", "not yet")


def test_a_state_nobody_knows_stays_gray():
    badge = Template('{% include "includes/state.html" with state="odd" %}').render(Context())
    assert "status-secondary" in badge


def test_only_what_was_read_back_is_ticked():
    ticked = {state for state, words in pooldeck.STATES.items() if words.verified}
    assert ticked == {"online", "applied", "valid"}


def test_a_field_names_its_flag_unit_and_error():
    form = ClusterForm({"memory_mb": "much"})
    page = Template('{% include "includes/field.html" with field=field flag="-m" unit="MB" %}').render(
        Context({"field": form["memory_mb"]})
    )
    for words in (
        'class="form-control is-invalid"',
        "<code",
        "-m",
        ">MB<",
        "memory must be a whole number: enter one such as 10",
        "optional",
    ):
        assert words in page


def test_the_navigation_marks_the_room_one_is_in(client, db):
    client.force_login(callers.person())
    page = page_of(client.get("/clusters/new/"))
    assert page.count('aria-current="page"') == 1
    assert 'href="/clusters/" aria-current="page"' in page


def test_breadcrumbs_lead_down_to_a_page_by_the_pages_above_it():
    page = Template('{% load pooldeck %}{% breadcrumbs "cluster-roles" name "Drop" of=cluster %}')
    cluster = Cluster(name="orders")
    written = " ".join(page.render(Context({"cluster": cluster, "name": "<b>"})).split())
    assert written == (
        '<nav class="pd-breadcrumbs" aria-label="Breadcrumb"> <a href="/clusters/">Clusters</a> / '
        f'<a href="/clusters/{cluster.pk}/">orders</a> / <a href="/clusters/{cluster.pk}/roles/">Roles</a> / '
        "&lt;b&gt; / Drop </nav>"
    )


def rendered(template: str, **context: object) -> str:
    """The HTML of a template that uses these tags, with single spaces."""
    return " ".join(Template("{% load pooldeck %}" + template).render(Context(context)).split())


@pytest.mark.parametrize(
    ("given", "role"),
    [('"danger" "plug"', "alert"), ('"info" "plug"', "status"), ('"info" "plug" role="note"', "note")],
)
def test_a_notice_interrupts_only_for_a_danger(given, role):
    written = rendered(
        "{% alert " + given + " heading=heading %}<b>{{ why }}</b>{% endalert %}", heading="A&B", why="<"
    )
    assert f'role="{role}"' in written
    assert '<h2 class="alert-heading">A&amp;B</h2><b>&lt;</b>' in written
    assert "alert-heading" not in rendered('{% alert "info" "plug" %}no heading{% endalert %}')


def test_a_form_ends_with_its_button_and_the_way_back():
    cluster = Cluster(name="orders")
    written = rendered('{% form_end "Save" "cluster-detail" of=cluster note="at most 5 s" %}', cluster=cluster)
    assert 'class="btn btn-primary" type="submit">Save</button>' in written
    assert f'href="/clusters/{cluster.pk}/" >Cancel</a>' in written
    assert "at most 5 s" in written
    dangerous = rendered('{% form_end "Drop" back="/back/" level="danger" drawing="trash" %}')
    assert 'href="/back/" >Keep it</a>' in dangerous
    assert "#trash" in dangerous


def test_the_columns_of_numbers_and_of_buttons_are_told_from_the_others():
    written = rendered('{% table_head "Pool" "Size" numbers="2" actions=True %}')
    assert written.count("<th ") == 3
    assert '<th scope="col" class="pd-number"> Size</th>' in written
    assert '<span class="visually-hidden">Actions</span>' in written
    assert rendered('{% table_head "Pool" %}').count("<th ") == 1


def test_the_number_of_rows_stands_beside_the_heading_of_a_card_even_if_it_is_0():
    assert '<span class="pd-muted">0</span>' in rendered('{% card_header "Pools" id="pools-title" note=n %}', n=0)
    assert "pd-muted" not in rendered('{% card_header "Pools" id="pools-title" %}')


def test_strangers_see_no_navigation(client, db):
    assert 'id="navigation"' not in page_of(client.get("/login/"))


@pytest.mark.parametrize(
    ("available", "allocated", "percent"), [(97, 0, 0.0), (97, 10, 10.3), (10, 20, 100.0), (0, 0, 0.0), (0, 5, 100.0)]
)
def test_the_bar_of_a_budget_is_never_longer_than_its_track(available, allocated, percent):
    budget = Budget(available, allocated, available - allocated, [])
    assert pooldeck.allocated_percent(budget) == pooldeck.lasting_percent(budget) == percent


def test_what_is_lent_to_experiments_counts_in_the_form_of_a_pool_and_not_in_the_warning():
    budget = Budget(100, 90, 10, [], for_experiments=40)
    assert (pooldeck.allocated_percent(budget), pooldeck.lasting_percent(budget)) == (90.0, 50.0)


@pytest.mark.parametrize(
    ("available", "words"), [(None, "unknown until a check succeeds"), (0, "<strong>5</strong> of 0")]
)
def test_a_budget_of_nothing_is_not_an_unknown_one(available, words):
    budget = Budget(available, 5, None if available is None else -5, [])
    page = Template("{% load rows %}{% budget_line budget %}").render(Context({"budget": budget}))
    assert words in page


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0 ms"), (0.1666, "0.167 ms"), (850, "850 ms"), (29_040, "29.0 s"), (125_000, "2 min 5 s"), (None, "–")],
)
def test_waits_are_written_as_events_write_them(milliseconds, text):
    assert pooldeck.wait_time(milliseconds) == text


def test_a_stored_step_is_shown_by_its_label():
    assert [str(pooldeck.step_label(step)) for step in ("preflight passed", "read back")] == [
        "tested on a trial instance",
        "read back",
    ]
