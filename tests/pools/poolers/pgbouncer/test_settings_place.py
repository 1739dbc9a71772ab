"""Where pgbouncer.ini reads the panel's settings."""

import pytest

from pools.poolers.pgbouncer import operators_config, settings_place
from pools.poolers.pgbouncer.settings_place import Place

LINES = "; settings made in Pooldeck\n%include /etc/pooldeck_settings.ini\n"
TEXTS = {"own.ini": "max_client_conn = 5\n", "leaves.ini": "max_client_conn = 5\n[databases]\n"}


def place(main: str, *names: str) -> Place:
    def load(path: str) -> str:
        if path not in TEXTS:
            raise PermissionError(13, "Permission denied", path)
        return TEXTS[path]

    return settings_place.find(main, "/etc", operators_config.read(main, {}, load), {}, names, (1, 18))


@pytest.mark.parametrize(
    ("main", "placed"),
    [
        ("[pgbouncer]\n%include own.ini\nuser = x\n", f"[pgbouncer]\n%include own.ini\nuser = x\n{LINES}"),
        ("[pgbouncer]\n%include own.ini\n[users]\n", f"[pgbouncer]\n%include own.ini\n{LINES}[users]\n"),
        ("[pgbouncer]\n%include leaves.ini\n", f"[pgbouncer]\n{LINES}%include leaves.ini\n"),
        ("[pgbouncer]\n%include closed.ini\n", f"[pgbouncer]\n{LINES}%include closed.ini\n"),
        (f"[pgbouncer]\n{LINES}\n%include own.ini\n", f"[pgbouncer]\n\n%include own.ini\n{LINES}"),
        (f"[pgbouncer]\n{LINES}max_client_conn = 7\n", f"[pgbouncer]\nmax_client_conn = 7\n{LINES}"),
        (f"[pgbouncer]\n{LINES}user = x\n", f"[pgbouncer]\n{LINES}user = x\n"),
        (f"[pgbouncer]\n{LINES}\n%include leaves.ini\n", f"[pgbouncer]\n{LINES}\n%include leaves.ini\n"),
    ],
)
def test_they_are_read_below_all_that_stays_in_the_section(main: str, placed: str) -> None:
    found = place(main, "max_client_conn")
    assert (found.main, found.problem) == (placed, "")
    assert place(found.main, "max_client_conn").main == placed


def test_what_is_set_again_all_the_same_is_named_unless_it_says_the_same() -> None:
    found = place("[pgbouncer]\n%include leaves.ini\n", "max_client_conn")
    assert found.set_again({"max_client_conn": "5", "verbose": "1"}) == []
    assert found.set_again({"max_client_conn": "6"}) == [
        "line 1 of leaves.ini sets max_client_conn to 5 after the panel's settings are read: take it out there"
    ]


def test_without_a_section_there_is_no_place() -> None:
    assert place("%include own.ini\n").problem.startswith("pgbouncer.ini has no [pgbouncer] section of its own")
