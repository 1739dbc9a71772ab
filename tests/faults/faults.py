"""What each fault does. It is over when its function returns, and the process is there again.

Each returns the time (`time.monotonic`) from which recovery counts: of the signal that ended a process, else of the end
of the fault.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.faults.ground import Ground
from tests.programs import below

BACK_WITHIN_S = 90.0
STOPPED_S, CUT_S, SLOW_S, FULL_S = 20.0, 5.0, 8.0, 8.0
DELAY_S = 0.5


def kill(ground: Ground, process: str) -> float:
    """kill -9."""
    return _end(ground, process, signal.SIGKILL)


def terminate(ground: Ground, process: str) -> float:
    """SIGTERM, as by an operator; what supervises the process starts it again."""
    return _end(ground, process, signal.SIGTERM)


def _end(ground: Ground, process: str, by: signal.Signals) -> float:
    before, struck_at = ground.process_of(process), time.monotonic()
    os.kill(before, by)
    if server := ground.own.get(process):
        if by == signal.SIGTERM:  # PostgreSQL waits for its clients then; an operator's pg_ctl stop is the fast one
            server.kill(server.stop_signal)
        assert server.process
        server.process.wait(BACK_WITHIN_S)
        server.process = None
        server.start()
        return struck_at
    deadline = struck_at + BACK_WITHIN_S
    while ground.process_of(process) in (before, 0):
        if time.monotonic() > deadline:
            raise AssertionError(f"{process} was not started again within {BACK_WITHIN_S:.0f} s of {by.name}")
        time.sleep(0.05)
    return struck_at


def stop(ground: Ground, process: str) -> float:
    """SIGSTOP to it and to all below it, and 20 seconds later SIGCONT."""
    head = ground.process_of(process)
    stopped = [head, *below(head)]
    for pid in stopped:
        _send(pid, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    for pid in [*stopped, *below(head)]:
        _send(pid, signal.SIGCONT)
    return time.monotonic()


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def cut(ground: Ground, process: str) -> float:
    """Every connection to it is reset, and each new one for 5 seconds."""
    proxy = ground.proxies[process]
    proxy.cut()
    time.sleep(CUT_S)
    proxy.mend()
    return time.monotonic()


def delay(ground: Ground, process: str) -> float:
    """Each packet to it and from it comes half a second later, for 8 seconds."""
    proxy = ground.proxies[process]
    proxy.delay_s = DELAY_S
    time.sleep(SLOW_S)
    proxy.mend()
    return time.monotonic()


def fill_disk(ground: Ground, process: str) -> float:
    """No byte is left on the disk that it writes to, for 8 seconds."""
    full = ground.disk_of(process) / "filled-by-the-test"
    try:
        _fill(full)
        time.sleep(FULL_S)
    finally:
        full.unlink(missing_ok=True)
    ended_at = time.monotonic()
    ground.start_ended()
    return ended_at


def _fill(path: Path) -> None:
    """Take what is free, in pieces, down to the last page."""
    with path.open("wb", buffering=0) as file:
        for piece in (1 << 20, 1 << 12):
            with suppress(OSError):
                while True:
                    file.write(bytes(piece))


FAULTS: dict[str, Callable[[Ground, str], float]] = {
    "kill": kill,
    "term": terminate,
    "stop": stop,
    "cut": cut,
    "delay": delay,
    "disk": fill_disk,
}
