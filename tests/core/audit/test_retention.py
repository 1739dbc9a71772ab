"""The retention removes the oldest entries, says so in the trail, and leaves a chain that holds."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.audit import chain, retention
from core.audit.chain import Broken, Head
from core.audit.models import Entry
from core.audit.recording import Subject, record
from core.audit.retention import Removal

pytestmark = pytest.mark.django_db(transaction=True)


def entries_of_days_ago(monkeypatch: pytest.MonkeyPatch, *days: int) -> list[Head]:
    """Entries as they were written then, and their heads."""
    now, heads = timezone.now(), []
    for ago in days:
        with monkeypatch.context() as then:
            then.setattr("core.audit.recording.timezone.now", lambda ago=ago: now - timedelta(days=ago))
            record("pool.change", Subject("pool", "1", f"{ago} days ago"))
        heads.append(chain.head_of_chain())
    return heads


def numbers() -> list[int]:
    return list(Entry.objects.order_by("number").values_list("number", flat=True))


def test_without_the_setting_all_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    entries_of_days_ago(monkeypatch, 4000, 1)
    assert retention.prune() is None
    assert numbers() == [1, 2]


def test_old_entries_go_and_an_entry_says_so(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AUDIT_KEEP_DAYS = 30
    heads = entries_of_days_ago(monkeypatch, 90, 60, 29, 1)
    assert retention.prune() == Removal(through=2, entries=2)
    assert numbers() == [3, 4, 5]
    pruned = Entry.objects.get(number=5)
    after = pruned.fields["after"]
    assert (pruned.action, after["through"], after["hash"], after["count"]) == ("audit.prune", 2, heads[1].hash, 2)
    assert chain.verify().number == 5
    assert retention.prune() is None


def test_a_pruned_trail_is_pruned_again(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AUDIT_KEEP_DAYS = 60
    entries_of_days_ago(monkeypatch, 90, 50, 40, 1)
    retention.prune()
    settings.AUDIT_KEEP_DAYS = 30
    assert retention.prune() == Removal(through=3, entries=2)
    assert chain.verify().number == 6
    record("pool.change", Subject("pool", "1", "shop"))
    assert chain.verify().number == 7


def test_the_newest_entry_stays_so_that_the_chain_goes_on(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AUDIT_KEEP_DAYS = 30
    entries_of_days_ago(monkeypatch, 90, 80, 70)
    assert retention.prune() == Removal(through=2, entries=2)
    assert numbers() == [3, 4]
    chain.verify()


def test_few_are_removed_at_once(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AUDIT_KEEP_DAYS = 30
    monkeypatch.setattr(retention, "MOST_AT_ONCE", 2)
    entries_of_days_ago(monkeypatch, 90, 89, 88, 87, 86, 1)
    assert [retention.prune(), retention.prune()] == [Removal(2, 2), Removal(4, 2)]
    chain.verify()


def test_what_somebody_else_removed_is_found(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AUDIT_KEEP_DAYS = 30
    entries_of_days_ago(monkeypatch, 90, 60, 29, 1)
    retention.prune()
    Entry.objects.filter(number=3).delete()
    with pytest.raises(Broken, match="entry 3 is missing"):
        chain.verify()


def test_a_forged_first_entry_is_found(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AUDIT_KEEP_DAYS = 30
    entries_of_days_ago(monkeypatch, 90, 60, 29, 1)
    retention.prune()
    Entry.objects.filter(number=3).update(previous="0" * 64)
    with pytest.raises(Broken, match="entry 3 does not follow"):
        chain.verify()


def test_of_heads_the_last_removed_and_newer_ones_can_be_checked(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AUDIT_KEEP_DAYS = 30
    heads = entries_of_days_ago(monkeypatch, 90, 60, 29, 1)
    retention.prune()
    assert [chain.verify(head).number for head in heads[1:]] == [5, 5, 5]
    with pytest.raises(Broken, match="entry 1 is gone"):
        chain.verify(heads[0])
    with pytest.raises(Broken, match="entry 2 is not the one"):
        chain.verify(Head(2, "0" * 64))
