"""Commands in the trail: each is declared, and each that changes something leaves who gave it and how it ended."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, get_commands
from django.db import DatabaseError

from core.audit import commands, recording
from core.audit.command_line import execute_from_command_line
from core.audit.commands import CHANGES, READS
from core.audit.models import Entry

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def given_by_alice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Somebody became the panel's account by sudo, on a machine without login ids."""
    monkeypatch.setattr(commands, "LOGIN", tmp_path / "loginuid")
    monkeypatch.setattr(commands, "account", lambda: "pooldeck")
    monkeypatch.setenv("SUDO_USER", "alice")


def entries() -> list[tuple[str, str, str, str]]:
    found = Entry.objects.order_by("number")
    return [(one.action, one.object_name, one.actor_name, one.outcome) for one in found]


class Toy(BaseCommand):
    """Fails where told."""

    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        if options.get("fails"):
            raise CommandError("no such user: password=hidden")


def carry_out(name: str, **options: object) -> None:
    command = Toy()
    commands.let_record(name, command)
    command.execute(force_color=False, no_color=True, skip_checks=True, stdout=None, stderr=None, **options)


def test_each_command_is_declared_once() -> None:
    known = set(get_commands())
    assert not CHANGES & READS
    assert known - CHANGES - READS == set(), "say in core/audit/commands.py whether these change something"
    assert (CHANGES | READS) - known == set(), "these are gone"


@pytest.mark.parametrize("name", sorted(set(get_commands()) - READS))
def test_each_that_changes_something_names_its_person_and_outcome(name: str) -> None:
    carry_out(name)
    who = f"{name} by alice as pooldeck"
    assert entries() == [("command.run", name, who, "asked for"), ("command.run", name, who, "done")]
    assert {one.actor_kind for one in Entry.objects.all()} == {"command"}


@pytest.mark.parametrize("name", sorted(READS))
def test_each_that_reads_leaves_nothing(name: str) -> None:
    carry_out(name)
    assert entries() == []


@pytest.mark.parametrize(("name", "option"), [("migrate", "check_unapplied"), ("rotate_keys", "status")])
def test_one_that_is_only_asked_to_look_leaves_nothing(name: str, option: str) -> None:
    carry_out(name, **{option: True})
    assert entries() == []


def test_a_failure_is_recorded_without_secrets() -> None:
    with pytest.raises(CommandError):
        carry_out("restore", fails=True)
    assert entries()[1][3] == "failed: no such user: password=changed"


def test_the_command_line_records_the_command_and_what_it_changes() -> None:
    User.objects.create_user("dba")
    Entry.objects.all().delete()
    execute_from_command_line(["pooldeckctl", "reset-second-factor", "dba"])
    execute_from_command_line(["pooldeckctl", "verify_audit"])
    who = "reset-second-factor by alice as pooldeck"
    assert entries() == [
        ("command.run", "reset-second-factor", who, "asked for"),
        ("person.reset_second_factor", "dba", who, ""),
        ("command.run", "reset-second-factor", who, "done"),
    ]


def test_a_database_that_takes_no_entry_stops_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: object, **_named: object) -> None:
        raise DatabaseError("no such table: audit_entry")

    monkeypatch.setattr(commands, "record", fail)
    carry_out("migrate")
    assert (recording.record is fail, entries()) == (False, [])


@pytest.mark.parametrize(
    ("login", "sudo", "who"),
    [
        ("0", "alice", "root as pooldeck"),  # who logged in counts before who says to have called sudo
        ("4294967295", "alice", "alice as pooldeck"),
        ("4294967295", "", "pooldeck"),
        ("987654321", "alice", "alice as pooldeck"),  # an account that is gone
    ],
)
def test_who_gave_a_command(login: str, sudo: str, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commands.LOGIN.write_text(login)
    monkeypatch.setenv("SUDO_USER", sudo)
    assert commands.who() == who
