"""Settings that together keep a server from starting."""

import pytest

from benchmarks.library.settings_profiles.start_rules import PersistentObjects, broken

NOW = {
    "max_connections": "100",
    "superuser_reserved_connections": "3",
    "reserved_connections": "5",
    "wal_level": "replica",
    "archive_mode": "on",
    "max_wal_senders": "10",
    "max_replication_slots": "10",
    "max_prepared_transactions": "0",
}


def test_a_server_as_it_runs_starts_again() -> None:
    assert list(broken(NOW, PersistentObjects(slots=10))) == []
    assert (
        list(broken({"max_connections": "10", "superuser_reserved_connections": "3"}, PersistentObjects())) == []
    )  # before 16


@pytest.mark.parametrize(
    ("changed", "kept", "names"),
    [
        ({"max_connections": "8"}, PersistentObjects(), ["max_connections"]),
        ({"superuser_reserved_connections": "95"}, PersistentObjects(), ["max_connections"]),
        ({"wal_level": "minimal"}, PersistentObjects(), ["wal_level", "wal_level"]),
        ({"wal_level": "minimal", "archive_mode": "off", "max_wal_senders": "0"}, PersistentObjects(), []),
        (
            {"wal_level": "minimal", "archive_mode": "off", "max_wal_senders": "0"},
            PersistentObjects(slots=1),
            ["wal_level"],
        ),
        ({}, PersistentObjects(slots=1, logical_slots=1), ["wal_level"]),
        ({"max_replication_slots": "2"}, PersistentObjects(slots=3), ["max_replication_slots"]),
        ({}, PersistentObjects(prepared=1), ["max_prepared_transactions"]),
    ],
)
def test_what_keeps_it_from_starting_is_named(
    changed: dict[str, str], kept: PersistentObjects, names: list[str]
) -> None:
    assert [settings[0] for settings, _why in broken(NOW | changed, kept)] == names


def test_the_sentence_has_the_figures() -> None:
    ((_names, why),) = broken(NOW | {"max_connections": "8"}, PersistentObjects())
    assert why == ("max_connections (8) has to be more than the reserved connections (8), or the server does not start")
