"""The pages of the console's verbs, and the card that says what the console holds back."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from pools.console import commands, show_cache
from pools.models import Mode, Pool, PoolerKind, PoolerState
from pools.poolers.admin_commands import Condition
from pools.poolers.pgbouncer.driver import PgBouncer
from tests.pages import page_of
from tests.pools.consoles import FakeControls
from tests.pools.records import a_pool, a_pooler, an_entry

VERBS = ("pause", "resume", "reconnect", "disable", "enable", "kill")


@pytest.fixture
def console(monkeypatch):
    fake = FakeControls()
    monkeypatch.setattr(PgBouncer, "controls", lambda self, pooler: fake.opened())
    monkeypatch.setattr(show_cache, "condition", lambda pool: fake.condition(pool.name))
    return fake


@pytest.fixture(params=["pool", "entry"])
def orders(request, db):
    """A pool, and an entry that is not managed here: both have the verbs."""
    online = {"state": PoolerState.ONLINE, "port": 1}
    if request.param == "pool":
        return a_pool(name="orders", pooler=a_pooler(**online))
    return an_entry(name="orders", pooler=a_pooler(config_dir="", **online))


def named(target, page):
    return f"{'pool' if isinstance(target, Pool) else 'entry'}-{page}"


def url_of(target, word):
    return reverse(named(target, "verb"), args=[target.pk, word])


def card_of(browser, target):
    return page_of(browser.get(reverse(named(target, "condition"), args=[target.pk])))


@pytest.mark.parametrize("word", VERBS)
def test_a_look_at_a_verb_does_nothing(staff, console, orders, word):
    answer = staff.get(url_of(orders, word))
    assert (answer.status_code, console.done) == (200, [])


@pytest.mark.parametrize("word", VERBS)
def test_a_verb_is_done_and_said(staff, console, orders, word):
    console.paused, console.disabled = word == "resume", word == "enable"
    typed = {"deadline_s": 5, "hold_s": 60} if word == "pause" else {"confirm": "orders", "hold_s": 0}
    answer = staff.post(url_of(orders, word), typed, follow=True)
    assert answer.redirect_chain == [(reverse(named(orders, "detail"), args=[orders.pk]), 302)]
    assert console.done[0] == word
    assert [message.level_tag for message in answer.context["messages"]] == ["success"]


@pytest.mark.parametrize("word", VERBS)
def test_readers_and_strangers_reach_no_verb(reader, client, console, orders, word):
    assert [reader.get(url_of(orders, word)).status_code, reader.post(url_of(orders, word)).status_code] == [403, 403]
    assert client.post(url_of(orders, word)).url == f"/login/?next={url_of(orders, word)}"
    assert console.done == []


def test_other_words_methods_and_pools_are_not_there(staff, console, orders):
    assert staff.get(url_of(orders, "shutdown")).status_code == 404
    assert staff.put(url_of(orders, "pause")).status_code == 405
    absent = reverse(named(orders, "verb"), args=["00000000-0000-0000-0000-000000000000", "pause"])
    assert staff.get(absent).status_code == 404


def test_a_blocked_pause_answers_with_who_held_it_up_and_what_was_typed(staff, console, orders):
    console.busy = True
    answer = staff.post(url_of(orders, "pause"), {"deadline_s": 7, "hold_s": 90})
    page = page_of(answer)
    assert answer.status_code == 409
    assert "pool orders could not be paused in 7 s and was resumed: 1 blocker" in page
    for words in ("batch at 10.0.0.9:4711", "2026-11-20 14:01:00 UTC", "4242", 'value="90"'):
        assert words in page
    assert console.done == ["pause", "resume"]


def test_numbers_out_of_range_stay_with_their_message(staff, console, orders):
    answer = staff.post(url_of(orders, "pause"), {"deadline_s": 61, "hold_s": 0})
    assert (answer.status_code, set(answer.context["form"].errors)) == (200, {"deadline_s", "hold_s"})
    assert 'value="61"' in page_of(answer)
    assert console.done == []


def test_a_wrong_name_kills_nothing_and_stays_typed(staff, console, orders):
    page = page_of(staff.post(url_of(orders, "kill"), {"confirm": "order", "hold_s": 0}))
    assert "&#x27;order&#x27; is not its name: type &#x27;orders&#x27; to kill it" in page
    assert 'value="order"' in page
    assert console.done == []


def test_a_session_pool_is_warned_of_what_a_pause_waits_for(staff, console):
    pool = a_pool(mode=Mode.SESSION)
    assert "waits until each connected client disconnects" in page_of(staff.get(url_of(pool, "pause")))


@pytest.mark.parametrize(
    ("until_s", "words"),
    [
        (48, "then resumed automatically</strong>"),
        (-2, "Being resumed."),
        (None, "Paused at the console."),
    ],
)
def test_the_card_says_until_when_a_pool_is_paused(staff, console, orders, until_s, words):
    console.paused = True
    until = timezone.now() + timedelta(seconds=until_s) if until_s is not None else None
    type(orders).objects.update(paused_until=until)
    card = card_of(staff, orders)
    assert words in card
    assert "Resume now" in card
    if until_s == 48:
        assert f"Paused until {until:%H:%M:%S} UTC" in card


def test_the_card_offers_what_makes_sense_now(staff, console, orders):
    assert [name in card_of(staff, orders) for name in ("Pause…", "Disable…", "Resume now")] == [True, True, False]
    console.disabled = True
    assert [name in card_of(staff, orders) for name in ("Disable…", "New clients are refused")] == [False, True]


def test_verbs_that_the_consoles_login_may_not_use_are_disabled_with_the_reason(staff, console, orders):
    orders.pooler.mark(PoolerState.ONLINE, refused="stats is none of the admin_users")
    card = card_of(staff, orders)
    assert "stats is none of the admin_users" in card
    assert (card.count("disabled"), "pause/" in card) == (4, False)
    answer = staff.post(url_of(orders, "pause"), {"deadline_s": 5, "hold_s": 60})
    assert (answer.status_code, console.done) == (409, [])


def test_readers_see_the_state_without_buttons(reader, console, orders):
    assert "Neither paused nor disabled." in card_of(reader, orders)
    console.paused = True
    card = card_of(reader, orders)
    assert "Paused at the console." in card
    assert "<button" not in card


def test_a_console_that_says_nothing_is_no_green_light(staff, monkeypatch, orders):
    monkeypatch.setattr(show_cache, "condition", lambda pool: None)
    assert "The console does not list this pool now." in card_of(staff, orders)


def test_a_pool_of_a_kind_without_verbs_has_no_card(staff):
    pool = a_pool(pooler=a_pooler(kind=PoolerKind.PGPOOL))
    assert card_of(staff, pool).strip() == ""
    refused = staff.post(url_of(pool, "resume"))
    assert refused.status_code == 409
    assert "Pgpool-II can" in page_of(refused)


def test_the_condition_is_read_from_the_look_that_all_share(monkeypatch, orders):
    rows = {"databases": [{"name": "orders", "paused": 1, "disabled": 0}]}
    monkeypatch.setattr(show_cache.sampler, "latest", lambda pooler: show_cache.sampler.ConsoleSnapshot(rows=rows))
    assert show_cache.condition(orders) == Condition(paused=True, disabled=False)


def test_the_list_marks_pools_that_are_held(staff):
    orders = a_pool()
    a_pool(name="other")
    Pool.objects.filter(pk=orders.pk).update(paused_until=timezone.now() + timedelta(seconds=60))
    page = page_of(staff.get("/pools/"))
    assert page.count("Its clients are held back until it is resumed") == 1


def test_an_entry_that_became_a_pool_has_the_pools_pages(staff, console):
    pool = a_pool(name="orders", pooler=a_pooler(state=PoolerState.ONLINE, port=1))
    entry = an_entry(name="orders", pooler=pool.pooler, pool=pool)
    assert staff.post(url_of(entry, "kill"), {"confirm": "orders"}).url == url_of(pool, "kill")
    assert console.done == []


def test_an_entry_whose_server_is_not_registered_names_its_blockers_too(staff, console):
    entry = an_entry(name="far", cluster=None, pooler=a_pooler(config_dir="", state=PoolerState.ONLINE, port=1))
    console.busy = True
    assert "batch at 10.0.0.9:4711" in page_of(staff.post(url_of(entry, "pause"), {"deadline_s": 7, "hold_s": 90}))


def test_the_card_stands_on_the_page_of_an_entry(staff, console):
    entry = an_entry(name="far", pooler=a_pooler(config_dir="", state=PoolerState.ONLINE, port=1))
    assert "Pause…" in page_of(staff.get(reverse("entry-detail", args=[entry.pk])))


def test_a_pause_of_an_entry_ends_by_itself(staff, console):
    entry = an_entry(name="far", pooler=a_pooler(config_dir="", state=PoolerState.ONLINE, port=1))
    staff.post(url_of(entry, "pause"), {"deadline_s": 5, "hold_s": 60})
    entry.refresh_from_db()
    assert entry.paused_until is not None
    type(entry).objects.update(paused_until=timezone.now())
    commands.resume_due()
    entry.refresh_from_db()
    assert (console.done, entry.paused_until) == (["pause", "resume"], None)
