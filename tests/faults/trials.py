"""One trial of a cell: begin, strike, wait until all answers, and look for what is wrong."""

import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.faults.activities import ACTIVITIES, Activity, Stuck
from tests.faults.cells import Cell
from tests.faults.faults import FAULTS
from tests.faults.ground import Ground
from tests.installation import Refused
from tests.programs import processes

RECOVERS_WITHIN_S = 120.0
BEGINS_WITHIN_S = 60.0
ENDS_WITHIN_S = 10.0  # of what a killed process had started
READ_FROM_PROC = (OSError, ValueError)


@dataclass
class Trial:
    """What one trial found; `recovery_s` is the time until the panel was ready and both pools answered."""

    cell: Cell
    recovery_s: float = 0.0
    seconds: float = 0.0
    outcome: str = ""
    wrong: list[str] = field(default_factory=list)

    def count(self, kind: str) -> int:
        """Return how many faults of that kind were found."""
        return sum(one.startswith(f"{kind}:") for one in self.wrong)


def tried(ground: Ground, cell: Cell) -> Trial:
    """Run one trial, and leave the installation whole for the next."""
    found, begun = Trial(cell), time.monotonic()
    activity = ACTIVITIES[cell.activity](ground, cell)
    try:
        with ground.way_of(cell):
            begin(activity)
            time.sleep(activity.strikes_after_s)
            counts_from = FAULTS[cell.fault](ground, cell.process)
            found.recovery_s = recovered(ground) - counts_from
            found.wrong += activity.faults_after()
        found.outcome = activity.outcome
    except (Stuck, AssertionError, OSError, psycopg.Error) as stuck:
        found.wrong.append(f"stuck: {stuck}")
    found.wrong += [f"orphan: {one}" for one in orphans(ground)]
    found.seconds = time.monotonic() - begun
    return found


def begin(activity: Activity) -> None:
    """Begin it, once the panel takes it; raises `Stuck`. What came before may have left a server on its way up."""
    deadline = time.monotonic() + BEGINS_WITHIN_S
    while True:
        try:
            return activity.begin()
        except Refused as refused:
            if time.monotonic() > deadline:
                raise Stuck(f"the panel does not take it after {BEGINS_WITHIN_S:.0f} s: {refused}") from refused
        time.sleep(1)


def recovered(ground: Ground) -> float:
    """Return when (`time.monotonic`) the panel is ready and both pools answer; raises `Stuck`."""
    begun, why = time.monotonic(), ""
    while time.monotonic() - begun < RECOVERS_WITHIN_S:
        try:
            urllib.request.urlopen(f"{ground.installation.url}/healthz/ready", timeout=5).close()
            for pooler in ground.poolers:
                with ground.client(pooler) as client:
                    client.execute("SELECT 1")
        except (OSError, psycopg.Error) as error:
            why = str(error)
            time.sleep(0.1)
            continue
        return time.monotonic()
    raise Stuck(f"not ready {RECOVERS_WITHIN_S:.0f} s after the fault: {why}")


def orphans(ground: Ground) -> list[str]:
    """Return programs of a load that run although none should, and what runs of the installation outside of it."""
    deadline = time.monotonic() + ENDS_WITHIN_S
    while (left := _left(ground)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return left


def _left(ground: Ground) -> list[str]:
    its_own, marks = ground.its_own(), _marks(ground)
    found = []
    for pid in processes():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except READ_FROM_PROC:
            continue
        is_ours = any(mark in line + b"\0" + environment for mark in marks)
        if is_ours and (b"pgbench" in line.split(b"\0")[0] or pid not in its_own):
            found.append(f"{pid} {line[:120].decode(errors='replace')!r}")
    return found


def _marks(ground: Ground) -> list[bytes]:
    return [str(ground.home).encode(), *(f"PGPORT={port}\0".encode() for port in ground.ports.values())]
