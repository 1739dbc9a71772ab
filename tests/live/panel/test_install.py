"""The whole installation on machines of their own: fresh debootstrap folders that systemd-nspawn boots.

It downloads packages for some minutes, so that it runs by `script/test --all` alone, where its programs are installed.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ("debootstrap", "systemd-nspawn", "slirp4netns", "nsenter", "ip")

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(os.geteuid() != 0, reason="root makes machines"),
    pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason=f"not all of {', '.join(PROGRAMS)} are installed"),
]


def run(*words: str) -> str:
    done = subprocess.run(
        [ROOT / "script" / "strangers-hour", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def test_an_installation_is_repeated_without_a_change_and_removed() -> None:
    said = run("--install-only", "trixie")
    assert "nothing may change" in said
    assert "remove its data too" in said


def test_the_first_hour_leads_from_nothing_to_a_restored_upgrade() -> None:
    said = run("bookworm")
    assert "let the PgBouncer go: its file is byte for byte what it was" in said
