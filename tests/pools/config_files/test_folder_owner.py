"""Which generator's worker can tell of a pooler's files."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pools.config_files import folder_owner
from pools.models import Pooler, Revision, RevisionState
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(hours=1)


def an_applied(pooler: Pooler, generator: str, ago: timedelta = timedelta(0), number: int = 1) -> Revision:
    values = {"number": number, "state": RevisionState.APPLIED, "finished_at": timezone.now() - ago}
    return pooler.revisions.create(generator=generator, **values)


def test_a_named_generator_keeps_the_folder_whoever_applied_and_however_silent_it_is() -> None:
    pooler = a_pooler(generator="rack-2")
    an_applied(pooler, "rack-1", LONG_AGO)
    owner = folder_owner.of(pooler)
    assert (owner.generator, owner.is_named, owner.is_silent, owner.worker) == ("rack-2", True, True, "rack-2")


def test_without_a_name_it_is_the_one_that_applied_last_until_it_falls_silent() -> None:
    pooler = a_pooler()
    an_applied(pooler, "rack-1", LONG_AGO)
    an_applied(pooler, "rack-2", number=2)
    pooler.revisions.create(number=3, state=RevisionState.FAILED, generator="rack-3")
    assert (folder_owner.of(pooler).generator, folder_owner.of(pooler).worker) == ("rack-2", "rack-2")
    Revision.objects.update(finished_at=timezone.now() - LONG_AGO)
    assert (folder_owner.of(pooler).generator, folder_owner.of(pooler).worker) == ("rack-2", "")


def test_a_look_or_an_apply_at_work_is_no_silence() -> None:
    examined, applying = a_pooler(files_checked_at=timezone.now()), a_pooler()
    for pooler in (examined, applying):
        an_applied(pooler, "rack-2", LONG_AGO)
    assert applying.take_apply_lock()
    assert [folder_owner.of(pooler).is_silent for pooler in (examined, applying)] == [False, False]


def test_before_the_first_apply_it_is_anybodys() -> None:
    assert folder_owner.of(a_pooler()) == folder_owner.FolderOwner()


def test_a_new_folder_is_not_known_to_be_where_the_old_one_was() -> None:
    pooler = a_pooler()
    an_applied(pooler, "rack-2")
    folder_owner.forget(pooler)
    assert folder_owner.of(pooler).generator == ""


def test_the_keepers_of_many_are_found_in_one_query() -> None:
    poolers = [a_pooler() for _ in range(3)]
    for pooler in poolers:
        an_applied(pooler, pooler.name)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found: dict[Any, Any] = folder_owner.of_all(poolers)
    assert {found[pooler.pk].generator for pooler in poolers} == {pooler.name for pooler in poolers}
    assert len(queries) == 1
