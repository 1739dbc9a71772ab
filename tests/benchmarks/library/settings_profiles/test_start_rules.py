"""Settings that together keep a server from starting."""

import pytest

from benchmarks.library.settings_profiles.start_rules import Kept, broken

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
    assert list(broken(NOW, Kept(slots=10))) == []
    assert list(broken({"max_connections": "10", "superuser_reserved_connections": "3"}, Kept())) == []  # before 16


@pytest.mark.parametrize(
    ("changed", "kept", "names"),
    [
        ({"max_connections": "8"}, Kept(), ["max_connections"]),
        ({"superuser_reserved_connections": "95"}, Kept(), ["max_connections"]),
        ({"wal_level": "minimal"}, Kept(), ["wal_level", "wal_level"]),
        ({"wal_level": "minimal", "archive_mode": "off", "max_wal_senders": "0"}, Kept(), []),
        ({"wal_level": "minimal", "archive_mode": "off", "max_wal_senders": "0"}, Kept(slots=1), ["wal_level"]),
        ({}, Kept(slots=1, logical_slots=1), ["wal_level"]),
        ({"max_replication_slots": "2"}, Kept(slots=3), ["max_replication_slots"]),
        ({}, Kept(prepared=1), ["max_prepared_transactions"]),
    ],
)
def test_what_keeps_it_from_starting_is_named(changed: dict[str, str], kept: Kept, names: list[str]) -> None:
    assert [settings[0] for settings, _why in broken(NOW | changed, kept)] == names


def test_the_sentence_has_the_figures() -> None:
    ((_names, why),) = broken(NOW | {"max_connections": "8"}, Kept())
    assert why == ("max_connections (8) has to be more than the reserved connections (8), or the server does not start")
