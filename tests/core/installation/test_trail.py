"""Backups, restores, rotations of keys and upgrades in the audit trail."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command

from core.audit.models import Entry
from core.installation import trail
from core.installation.backup_contents import Contents
from core.installation.manifests import Manifest
from core.lib.crypto import fingerprint

pytestmark = pytest.mark.django_db(transaction=True)
MADE = Manifest("0.1.0", "2026-11-20T01:00:00+00:00", "metadata.sqlite3", "ab" * 32, rows={"pools_pool": 3, "audit": 4})


def last() -> tuple[str, str, dict[str, Any]]:
    entry = Entry.objects.order_by("-number")[0]
    return entry.action, entry.outcome, entry.fields["after"]


def test_a_backup_says_which_file(tmp_path: Path) -> None:
    trail.record_backup(MADE, tmp_path / "metadata.sqlite3")
    assert last() == (
        "installation.backup",
        "done",
        {
            "file": str(tmp_path / "metadata.sqlite3"),
            "made_at": MADE.made_at,
            "release": "0.1.0",
            "rows": 7,
            "sha256": MADE.sha256,
        },
    )
    assert trail.last_backup_at() == datetime(2026, 11, 20, 1, tzinfo=UTC)


def test_a_restore_says_from_where_and_counts_as_a_backup_of_then(tmp_path: Path) -> None:
    trail.record_restore(tmp_path, Contents(rows={"pools_pool": 3}))
    assert last() == ("installation.restore", "done", {"folder": str(tmp_path), "rows": 3})
    assert trail.last_backup_at() is None


def test_keys_that_are_written_somewhere_are_recorded(tmp_path: Path) -> None:
    trail.record_keys_written(tmp_path)
    assert last() == ("installation.backup_keys", "done", {"folder": str(tmp_path)})


def test_a_rotation_names_keys_by_their_fingerprints(settings: Any) -> None:
    keys = [Fernet.generate_key().decode(), *settings.POOLDECK_KEYS]
    settings.POOLDECK_KEYS = keys
    call_command("rotate_keys")
    action, outcome, after = last()
    assert (action, outcome) == ("installation.rotate_keys", "done")
    assert after == {"encrypted_again": 0, "under": fingerprint(keys[0]), "others": [fingerprint(keys[1])]}
    call_command("rotate_keys", "--forget-lost")
    assert last() == ("installation.forget_keys", "done", {"unreadable": 0})


def test_an_upgrade_is_recorded_with_how_it_ended() -> None:
    call_command("note-upgrade", "0.1.0", "0.1.1", "failed in the step health, and went back")
    assert last() == (
        "installation.upgrade",
        "failed in the step health, and went back",
        {"release_before": "0.1.0", "release_after": "0.1.1"},
    )
