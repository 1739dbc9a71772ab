"""The reason of a load that ended before its program said anything."""

import pytest

from benchmarks.runs.execution.ending import last_message

SANDBOX = "bwrap: Can't find source path /run/pooler/.s.PGSQL.6432: Permission denied"
LINKER = "/usr/bin/pgbench: error while loading shared libraries: libpq.so.5: cannot open shared object file"


@pytest.mark.parametrize("words", [SANDBOX, LINKER, "setpriv: setresuid failed: Operation not permitted"])
def test_the_program_around_the_load_program_is_heard(words: str) -> None:
    assert last_message(f"{words}\n") == [words]
    assert last_message(f"progress: 1.0 s, 1.0 tps, lat 1.0 ms stddev 0.0\n{words}\n(a note of the panel)") == [words]


@pytest.mark.parametrize(
    "text",
    ["", "progress: 1.0 s, 9.0 tps, lat 1.0 ms stddev 0.0", "NOTICE:  hello", "starting vacuum...end.", "pgbench: x"],
)
def test_what_is_no_reason_is_not_taken_for_one(text: str) -> None:
    assert last_message(text) == []
