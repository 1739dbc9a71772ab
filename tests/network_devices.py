"""Keeps Chromium and tests that add network devices apart.

Chromium ends all its requests with ERR_NETWORK_CHANGED when a device comes or goes, also one that it does not use.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def unchanged() -> Iterator[None]:
    """Let nobody change devices for the block; wait for who does."""
    with _locked(fcntl.LOCK_SH):
        yield


@contextmanager
def changing() -> Iterator[None]:
    """Change devices in the block; wait until no browser is open."""
    with _locked(fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(how: int) -> Iterator[None]:
    path = Path(f"/tmp/pooldeck-tests-network-{os.getuid()}.lock")  # of all test runs: TMPDIR may be this one's own
    with path.open("w") as lock:
        fcntl.flock(lock, how)
        yield
