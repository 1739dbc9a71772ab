"""Whether a panel that was started again is well: its services run, and it says itself that every part is there."""

import json
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from panel.upgrade import services
from panel.upgrade.errors import StepFailed
from panel.upgrade.release import Release
from panel.upgrade.services import Services

WITHIN_S = 120.0
ASK_EVERY_S = 1.0


def wait_until_well(url: str, release: Release, manager: Services, started: float, within_s: float = WITHIN_S) -> None:
    """Wait for /healthz/ready with heartbeats of the processes that were started at `started` (monotonic seconds).

    Raises `StepFailed` at the deadline. Where nobody manages the services, they are not running yet.
    """
    if not url or not manager.manages:
        return
    deadline = time.monotonic() + within_s
    while why := _what_is_wrong(url, release, time.monotonic() - started):
        if time.monotonic() > deadline:
            raise StepFailed(f"{url}/healthz/ready is not well after {within_s:.0f} s: {why}")
        time.sleep(ASK_EVERY_S)
    if ended := services.ended(manager):
        raise StepFailed(f"{', '.join(ended)} ended again: see their logs (journalctl -u {ended[0]})")


def _what_is_wrong(url: str, release: Release, since_s: float) -> str:
    """Return why it is not ready; empty where it is. Heartbeats older than `since_s` are of the processes before."""
    request = Request(f"{url}/healthz/ready", headers={"Host": _allowed_host(release)})  # noqa: S310 (the operator's URL)
    try:
        with urlopen(request, timeout=10) as answer:  # noqa: S310 (as above)
            found = json.loads(answer.read())
    except HTTPError as error:
        return error.read().decode(errors="replace")[:500]
    except (OSError, HTTPException, ValueError) as error:
        return str(error)
    old = [name for name, age_s in found.get("ages_s", {}).items() if age_s is None or age_s > since_s]
    return f"no heartbeat since the start of: {', '.join(old)}" if old else ""


def _allowed_host(release: Release) -> str:
    words = release.variables.get("POOLDECK_ALLOWED_HOSTS", "").split(",")
    return next((word.strip() for word in words if word.strip() not in ("", "*")), "127.0.0.1").lstrip(".")
