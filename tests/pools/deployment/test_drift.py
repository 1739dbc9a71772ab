"""Who may say that files are no longer as they were applied, beside consoles that do not answer."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from pools import tasks
from pools.deployment import drift, live_files
from pools.models import Pooler, PoolerState, Revision, RevisionState
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db
INI = "; written by the panel\n[databases]\norders = host=127.0.0.1\n"
CHANGED = [{"where": "pooldeck.ini", "what": "it was edited by hand"}]
LONG_AGO = timedelta(hours=1)


@pytest.fixture
def pooler(tmp_path: Path, settings: Any) -> Pooler:
    """One whose generator nobody named, applied by that of this test; its console is down."""
    settings.GENERATOR = "rack-1"
    folder = tmp_path / "etc"
    folder.mkdir(mode=0o700)
    write(folder, INI)
    pooler = a_pooler(port=1, config_dir=str(folder), state=PoolerState.UNREACHABLE)
    revision = Revision.objects.draft(pooler, {name: read(folder, name) for name in ("pgbouncer.ini", "pooldeck.ini")})
    revision.finish(RevisionState.APPLIED)
    return pooler


def write(folder: Path, ini: str) -> None:
    (folder / "pgbouncer.ini").write_text("%include pooldeck.ini\n")
    (folder / "pooldeck.ini").write_text(ini)


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text()


def found(pooler: Pooler) -> list[dict[str, str]]:
    drift.check(pooler)
    pooler.refresh_from_db()
    return pooler.drift


def edit(pooler: Pooler) -> None:
    write(Path(pooler.config_dir), INI.replace("127.0.0.1", "10.0.0.9"))


def fall_silent(pooler: Pooler) -> None:
    pooler.revisions.update(finished_at=timezone.now() - LONG_AGO)
    Pooler.objects.filter(pk=pooler.pk).update(files_checked_at=timezone.now() - LONG_AGO)


def test_files_as_they_were_applied_are_no_drift(pooler: Pooler) -> None:
    assert found(pooler) == []
    assert pooler.files_checked_at is not None


def test_files_are_looked_at_while_the_console_is_down(pooler: Pooler) -> None:
    edit(pooler)
    tasks.check_drift()
    pooler.refresh_from_db()
    assert (pooler.drift, pooler.drift_seen_at is not None) == (CHANGED, True)


def test_another_workers_look_never_changes_what_the_one_that_applied_found(pooler: Pooler, settings: Any) -> None:
    settings.GENERATOR = "rack-2"
    edit(pooler)  # The folder has the same name.
    assert (found(pooler), pooler.files_checked_at) == ([], None)
    settings.GENERATOR = "rack-1"
    assert found(pooler) == CHANGED
    write(Path(pooler.config_dir), INI)
    settings.GENERATOR = "rack-2"
    assert found(pooler) == CHANGED
    settings.GENERATOR = "rack-1"
    assert found(pooler) == []


def test_a_silent_generators_folder_is_taken_over_by_who_finds_it_whole(pooler: Pooler, settings: Any) -> None:
    settings.GENERATOR = "rack-2"
    fall_silent(pooler)
    edit(pooler)
    assert (found(pooler), live_files.live_files(pooler)["state"]) == ([], "not looked at")
    write(Path(pooler.config_dir), INI)
    assert (found(pooler), pooler.revisions.get().generator) == ([], "rack-2")
    edit(pooler)
    assert found(pooler) == CHANGED


def test_nobody_takes_over_the_folder_of_a_generator_that_is_named(pooler: Pooler, settings: Any) -> None:
    Pooler.objects.filter(pk=pooler.pk).update(generator="rack-1")
    settings.GENERATOR = "rack-2"
    fall_silent(pooler)
    assert (found(pooler), pooler.revisions.get().generator) == ([], "rack-1")
    assert live_files.live_files(pooler)["state"] == "not looked at"


@pytest.mark.parametrize("generator", ["", "rack-1"])
def test_a_folder_that_is_not_there_is_drift_for_its_keeper_only(pooler: Pooler, generator: str) -> None:
    Revision.objects.update(generator=generator)
    Pooler.objects.filter(pk=pooler.pk).update(config_dir="/nowhere")
    pooler.refresh_from_db()
    assert [one["where"] for one in found(pooler)] == (["/nowhere"] if generator else [])


def test_what_was_applied_before_generators_were_noted_is_taken_up_by_who_has_the_files(pooler: Pooler) -> None:
    Revision.objects.update(generator="")
    edit(pooler)
    assert (found(pooler), pooler.revisions.get().generator) == (CHANGED, "rack-1")


def test_a_look_of_another_shows_the_files_as_applied_and_what_was_found(pooler: Pooler, settings: Any) -> None:
    edit(pooler)
    assert found(pooler) == CHANGED
    settings.GENERATOR = "web"
    shown = live_files.live_files(pooler)
    assert (shown["state"], shown["generator"], shown["looked_at"]) == ("drifted", "rack-1", pooler.files_checked_at)
    assert {one["name"] for one in shown["files"]} == {"pgbouncer.ini", "pooldeck.ini"}
    assert "10.0.0.9" not in str(shown)
