"""An Idempotency-Key: what is started once, what is refused, and what many requests at once come to."""

import pytest
import redis
from django.core.cache import cache

from benchmarks.errors import IllegalTransition, InvalidOptions, QueueDown
from benchmarks.models import Run
from benchmarks.runs.submission import idempotency
from tests.benchmarks.test_claiming import at_once
from tests.callers import person

BODY = {"target": {"pool": "p"}, "options": {"clients": 2}}


@pytest.fixture(autouse=True)
def forgotten():
    """No key of another test is remembered."""
    cache.clear()


@pytest.fixture
def author(db):
    return person()


def begin(run_id):
    return Run.objects.enqueue(**({"pk": run_id} if run_id else {}))


def refuse(run_id):
    raise InvalidOptions({"clients": ["0 is too few"]})


def start(author, key="a key", body=BODY, begin=begin):
    return idempotency.start(key, author, body, begin)


def abandoned(author, monkeypatch):
    """The id that a request chose before its web process died."""
    chosen = []

    def die(run_id):
        chosen.append(run_id)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(author, begin=die)
    monkeypatch.setattr(idempotency, "WORKED_ON_S", 0)
    monkeypatch.setattr(idempotency, "WAITED_S", 0)
    return chosen[0]


def test_without_a_key_each_request_starts_a_run(author):
    assert start(author, key=None) != start(author, key=None)
    assert Run.objects.count() == 2


def test_the_same_key_and_body_find_the_first_run(author):
    run, replayed = start(author)
    assert not replayed
    assert start(author, body=dict(reversed(BODY.items()))) == (run, True)
    assert Run.objects.count() == 1


def test_the_same_key_with_another_body_is_refused(author):
    start(author)
    with pytest.raises(idempotency.KeyReused, match="another body before: use a new key"):
        start(author, body=BODY | {"options": {"clients": 3}})
    assert idempotency.KeyReused.status == 422
    assert Run.objects.count() == 1


def test_a_key_is_its_authors_own(author):
    assert start(author)[0] != start(person())[0]


def test_what_was_refused_leaves_the_key_free(author):
    with pytest.raises(InvalidOptions):
        start(author, begin=refuse)
    assert start(author, body={"mended": True})[1] is False


def test_while_the_first_is_at_work_the_second_is_told_to_ask_again(author, monkeypatch):
    monkeypatch.setattr(idempotency, "WAITED_S", 0)

    def twice(run_id):
        with pytest.raises(IllegalTransition, match="still being handled: try again"):
            start(author)
        return begin(run_id)

    assert start(author, begin=twice)[1] is False
    assert Run.objects.count() == 1


def test_a_request_whose_process_died_can_be_sent_again(author, monkeypatch):
    chosen = abandoned(author, monkeypatch)
    run, replayed = start(author)
    assert (run.pk, replayed) == (chosen, False)
    assert start(author) == (run, True)


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb", "a\x7f", "schlüssel"])
def test_a_key_is_1_to_200_printable_ascii_characters(author, key):
    with pytest.raises(idempotency.InvalidKey) as refusal:
        start(author, key=key)
    assert list(refusal.value.errors) == ["Idempotency-Key"]
    assert Run.objects.count() == 0


@pytest.mark.parametrize("key", ["x", "x" * 200, ' ~"quoted"~ '])
def test_any_printable_key_is_taken(author, key):
    assert start(author, key=key)[1] is False


def test_neither_key_nor_body_is_kept_as_it_came(author, monkeypatch):
    kept = []
    monkeypatch.setattr(cache, "add", lambda *row: kept.append(row) or True)
    start(author, key="my key", body={"options": {"url": "http://user:hush@shop"}})
    assert "hush" not in repr(kept)
    assert "my key" not in repr(kept)
    assert kept[0][2] == 24 * 3600


@pytest.mark.parametrize("error", [redis.ConnectionError("refused"), redis.TimeoutError(), OSError()])
def test_nothing_is_started_while_no_key_can_be_kept(author, monkeypatch, error):
    def away(*row):
        raise error

    monkeypatch.setattr(cache, "add", away)
    with pytest.raises(QueueDown, match="nothing was saved: try again"):
        start(author)
    assert Run.objects.count() == 0


def test_a_refusal_is_told_though_its_key_can_not_be_freed(author, monkeypatch):
    def away(name):
        raise redis.ConnectionError

    monkeypatch.setattr(cache, "delete", away)
    with pytest.raises(InvalidOptions):
        start(author, begin=refuse)


def outcome(author):
    """The run's id and whether it was found; None where this one was told to ask again."""
    try:
        run, replayed = start(author)
    except IllegalTransition:
        return None
    return run.pk, replayed


def test_one_that_comes_while_the_first_is_at_work_is_answered_its_run(author, monkeypatch):
    saved = []

    def first(run_id):
        """Saves its run between two looks of a second request."""
        monkeypatch.setattr(idempotency, "_pause", lambda: saved.append(begin(run_id)))
        assert start(author) == (saved[0], True)
        return saved[0]

    assert start(author, begin=first) == (Run.objects.get(), False)


@pytest.mark.django_db(transaction=True)
def test_of_many_requests_at_once_one_starts_the_run(author):
    answers = at_once([lambda: outcome(author)] * 8)
    run = Run.objects.get()
    assert [answer for answer in answers if answer and not answer[1]] == [(run.pk, False)]
    assert {answer for answer in answers if answer} <= {(run.pk, False), (run.pk, True)}


@pytest.mark.django_db(transaction=True)
def test_of_many_that_take_up_a_dead_request_one_starts_the_run(author, monkeypatch):
    chosen = abandoned(author, monkeypatch)
    answers = at_once([lambda: outcome(author)] * 6)
    assert Run.objects.get().pk == chosen
    assert sorted(answers) == [(chosen, False), *[(chosen, True)] * 5]
