"""The health checks of containers: `python -m panel.health_probe web|worker|beat` exits with 1 where that one is down.

A worker and beat are judged by their own heartbeat in Redis, which they send every 2 s, also while a run is on; another
worker's heartbeat doesn't count. A worker that takes no message although some wait tells so, and is down too. It runs
beside the process, with the same environment, and without Django's apps.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from urllib.request import urlopen

from django.conf import settings

from benchmarks.errors import QueueDown
from benchmarks.generators import heartbeats

WEB = "http://127.0.0.1:8000/healthz/live"
ANSWER_WITHIN_S = 4


class Unhealthy(Exception):
    """The process is down or hangs; the message says how that was seen."""


def web(address: str) -> str:
    """Return the status of the web process's answer as a sentence; raises `Unhealthy`."""
    try:
        with urlopen(address, timeout=ANSWER_WITHIN_S) as answer:  # noqa: S310 (the operator's own address)
            return f"{address} answers {answer.status}"
    except (OSError, ValueError) as error:
        raise Unhealthy(f"{address} does not answer: {error}") from error


def worker() -> str:
    """Return the age of this worker's heartbeat for each kind of work it takes; raises `Unhealthy` and `QueueDown`.

    One that sends heartbeats and takes no message is unhealthy too.
    """
    keys = {"runs": heartbeats.RUNS} if settings.WORKER.takes_runs else {}
    keys |= {"tasks": heartbeats.TASKS} if settings.WORKER.takes_tasks else {}
    found = ", ".join(_heartbeat(f"worker {settings.GENERATOR} for {kind}", key) for kind, key in keys.items())
    if stalled_s := heartbeats.stalls_s().get(settings.GENERATOR):
        raise Unhealthy(f"{found}, but has taken no message for {stalled_s:.0f} s, though some wait")
    return found


def beat() -> str:
    """Return the age of beat's heartbeat; raises `Unhealthy` and `QueueDown`."""
    return _heartbeat("beat", heartbeats.BEAT)


def _heartbeat(who: str, key: str) -> str:
    own = next((one for one in heartbeats.seen(key) if one.name == settings.GENERATOR), None)
    if own is None:
        raise Unhealthy(f"{who} has sent no heartbeat yet")
    now = datetime.now(UTC)
    text = f"{who} sent a heartbeat {max(0.0, (now - own.last_seen_at).total_seconds()):.1f} s ago"
    if not own.is_alive(now):
        raise Unhealthy(f"{text}, and should every 2 s")
    return text


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line: which process, and what counts as down."""
    parser = argparse.ArgumentParser(prog="python -m panel.health_probe", description=__doc__.splitlines()[0])
    parser.add_argument("process", choices=["web", "worker", "beat"], help="the process beside which it runs")
    parser.add_argument("--address", default=WEB, help="what is asked of web (default: %(default)s)")
    parser.add_argument(
        "--ignore-redis",
        action="store_true",
        help="count as alive while Redis does not answer, for who restarts what is down: "
        "a restart would bring no Redis back, and would end runs",
    )
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Print what was found, and return the exit code: 0 for a process that is well."""
    asked = options(words)
    probes: dict[str, Callable[[], str]] = {"web": lambda: web(asked.address), "worker": worker, "beat": beat}
    code = 0
    try:
        report = probes[asked.process]()
    except QueueDown:
        report, code = "redis does not answer, so nothing is known of heartbeats", 0 if asked.ignore_redis else 1
    except Unhealthy as unhealthy:
        report, code = str(unhealthy), 1
    sys.stdout.write(f"{report}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
