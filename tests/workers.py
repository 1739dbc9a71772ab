"""Further workers of an installation, each a generator of a name of its own."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.bench import processes
from tests.installation import ROOT, Api, Installation

READY_WITHIN_S = 180


def environment_of_the_worker(installation: Installation) -> dict[str, str]:
    """What the installation's own worker was started with; it carries the address of its Redis."""
    for pid, _ in processes.descendants(installation.process.pid):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"celery" in words and b"worker" in words:
                pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                return dict(pair.decode().split("=", 1) for pair in pairs if b"=" in pair)
    raise AssertionError("the installation has no worker")


@contextmanager
def workers(installation: Installation, names: list[str], children: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Further workers of these names, ended with the block."""
    environment = environment_of_the_worker(installation)
    words = ["-c", str(children), "--without-mingle", "--without-gossip", "--loglevel", "WARNING"]
    command = ["setpriv", "--pdeathsig=KILL", sys.executable, "-m", "celery", "-A", "panel", "worker", *words]
    environment |= {"POOLDECK_WORKER": "runs"}
    started = [
        subprocess.Popen(command, cwd=ROOT, env=environment | {"POOLDECK_GENERATOR": name}, stdin=subprocess.DEVNULL)
        for name in names
    ]
    try:
        wait_until_alive(installation.api, set(names))
        yield started
    finally:
        for worker in started:
            worker.kill()
            worker.wait()


def wait_until_alive(api: Api, names: set[str]) -> None:
    """Until all have described themselves."""
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        found = {one["name"] for one in api.get("generators/")["results"] if one["alive"] and one["engines"]}
        if names <= found:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"generators did not come: {names - found}")
        time.sleep(0.5)
