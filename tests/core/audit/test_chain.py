"""The chain of the audit trail: what is written holds, and what is forged, removed or cut off is found."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import F

from core.audit import chain
from core.audit.chain import Broken, Head
from core.audit.models import Entry
from core.audit.recording import Subject, record

pytestmark = pytest.mark.django_db(transaction=True)


def three_entries() -> None:
    for name in ("one", "two", "three"):
        record("pool.change", Subject("pool", "1", name), before={"size": 1}, after={"size": 2})


def test_entries_are_numbered_and_chained() -> None:
    three_entries()
    numbers = [(one.number, one.object_name) for one in Entry.objects.order_by("number")]
    assert numbers == [(1, "one"), (2, "two"), (3, "three")]
    assert chain.verify() == chain.head_of_chain()
    assert Entry.objects.get(number=1).previous == chain.START


def test_an_empty_trail_holds() -> None:
    assert chain.verify() == Head(0, chain.START)


@pytest.mark.parametrize(
    "forged",
    [
        {"object_name": "another"},
        {"actor_name": "somebody"},
        {"at": F("at") + timedelta(seconds=1)},
        {"change": "{}"},
        {"outcome": "done"},
        {"reason": "because"},
    ],
    ids=lambda forged: next(iter(forged)),
)
def test_a_forged_entry_is_named(forged: dict[str, object]) -> None:
    three_entries()
    Entry.objects.filter(number=2).update(**forged)
    with pytest.raises(Broken, match="entry 2 was changed"):
        chain.verify()


def test_a_forged_entry_with_a_hash_of_its_own_breaks_the_next() -> None:
    three_entries()
    entry = Entry.objects.get(number=2)
    entry.object_name = "another"
    Entry.objects.filter(number=2).update(object_name="another", hash=chain.hash_of(entry))
    with pytest.raises(Broken, match="entry 3 does not follow"):
        chain.verify()


@pytest.mark.parametrize("number", [1, 2])
def test_a_removed_entry_is_named(number: int) -> None:
    three_entries()
    Entry.objects.filter(number=number).delete()
    with pytest.raises(Broken, match=f"entry {number} is missing"):
        chain.verify()


def test_a_trail_cut_at_its_end_is_found_with_a_saved_head() -> None:
    three_entries()
    saved = chain.verify()
    Entry.objects.filter(number=3).delete()
    assert chain.verify().number == 2
    with pytest.raises(Broken, match="entry 3 is missing at the end"):
        chain.verify(saved)


def test_a_trail_written_anew_is_found_with_a_saved_head() -> None:
    three_entries()
    saved = chain.verify()
    Entry.objects.filter(number=3).delete()
    record("pool.change", Subject("pool", "1", "forged"))
    assert chain.verify().number == 3
    with pytest.raises(Broken, match="entry 3 is not the one"):
        chain.verify(saved)


def test_the_command_prints_the_head_and_takes_it_again() -> None:
    three_entries()
    out = StringIO()
    call_command("verify_audit", stdout=out)
    head = out.getvalue().splitlines()[-1]
    assert head == str(chain.head_of_chain())
    call_command("verify_audit", "--head", head, stdout=out)
    Entry.objects.filter(number=2).delete()
    with pytest.raises(CommandError, match="the audit trail is broken: entry 2 is missing") as failure:
        call_command("verify_audit", stdout=out)
    assert failure.value.returncode == 1


def test_an_entry_goes_with_its_transaction() -> None:
    with transaction.atomic():
        record("pool.change", Subject("pool"))
        transaction.set_rollback(True)
    assert not Entry.objects.exists()
    with transaction.atomic():
        record("pool.change", Subject("pool", name="kept"))
        with transaction.atomic():
            record("pool.change", Subject("pool", name="rolled back"))
            transaction.set_rollback(True)
    assert [one.object_name for one in Entry.objects.all()] == ["kept"]


def test_an_act_that_cannot_be_recorded_is_rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM no_such_table")

    monkeypatch.setattr(chain, "append", fail)
    with pytest.raises(Exception, match="no_such_table"):
        User.objects.create(username="ana")
    assert not User.objects.exists()
