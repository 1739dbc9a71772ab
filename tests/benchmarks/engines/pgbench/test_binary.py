"""Which pgbench is found, and what is said when none is."""

from pathlib import Path

import pytest
from django.conf import LazySettings

from benchmarks.engines.binaries import Program, ProgramMissing
from benchmarks.engines.pgbench import binary
from benchmarks.engines.pgbench.binary import ask, find, version_of


def program(folder: Path, answer: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pgbench"
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", (15, 18)),
        ("pgbench (PostgreSQL) 9.6.24", (9, 6)),
        ("pgbench (PostgreSQL) 18devel", (18, 0)),
        ("pgbench (PostgreSQL) 19beta3", (19, 0)),
    ],
)
def test_versions_of_all_kinds_are_read(text: str, version: tuple[int, int]) -> None:
    assert version_of(text) == version


def test_the_setting_goes_first(tmp_path: Path, settings: LazySettings) -> None:
    settings.PGBENCH = program(tmp_path, "pgbench (PostgreSQL) 16.1")
    assert find() == Program(settings.PGBENCH, "pgbench (PostgreSQL) 16.1", (16, 1))


def test_the_newest_of_debians_goes_next(
    tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PGBENCH = ""
    monkeypatch.setattr(binary, "DEBIAN_BINARIES", tmp_path)
    for major in ("9.6", "10", "15"):
        program(tmp_path / major / "bin", f"pgbench (PostgreSQL) {major}.3")
    assert find().version == (15, 3)


def test_the_path_goes_last_and_nothing_is_said_with_the_remedy(
    tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PGBENCH = ""
    monkeypatch.setattr(binary, "DEBIAN_BINARIES", tmp_path / "none")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    path = program(tmp_path, "pgbench (PostgreSQL) 14.2")
    assert find().path == path
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(ProgramMissing, match="install postgresql-contrib or set POOLDECK_PGBENCH"):
        find()


def test_another_program_is_not_taken_for_pgbench(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing, match="answers 'hello', which is not pgbench's: check POOLDECK_PGBENCH"):
        ask(program(tmp_path, "hello"))


def test_a_path_that_can_not_be_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing, match=r"can't be run as pgbench .*: check POOLDECK_PGBENCH"):
        ask(str(tmp_path / "missing"))
