"""The demo experiment through the REST API: direct against pooled, with kept connections and with new ones."""

import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from panel.quickstart.programs import ProgramFailed
from panel.quickstart.steps import Steps
from panel.quickstart.supervise import Supervisor

DURATION_S = 10
OPTIONS = {"builtin": "select-only", "clients": 10, "threads": 2, "duration": DURATION_S, "progress": 1}
STORIES = (("clients keep their connection", False), ("a new connection each transaction (-C)", True))
FINAL = {"succeeded", "failed", "cancelled", "timed_out", "lost"}
ARM_WITHIN_S = DURATION_S + 90


class Api:
    """`/api/v1/` with a token."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token

    def get(self, path: str) -> Any:
        """The parsed answer of a GET."""
        return self._answer(Request(f"{self.url}/api/v1/{path}"))  # noqa: S310 (our own address)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The parsed answer of a POST."""
        request = Request(f"{self.url}/api/v1/{path}", data=json.dumps(body).encode())  # noqa: S310 (our own address)
        request.add_header("Content-Type", "application/json")
        return self._answer(request)

    def _answer(self, request: Request) -> Any:
        request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urlopen(request, timeout=30) as answer:  # noqa: S310 (our own address)
                return json.load(answer)
        except HTTPError as error:
            said = error.read().decode(errors="replace")
            raise ProgramFailed(f"{request.method} {request.full_url} answered {error.code}: {said}") from error


@dataclass(frozen=True)
class Arm:
    """One run of the experiment, as the API reads it back."""

    label: str
    run: dict[str, Any]

    @property
    def tps(self) -> float | None:
        """Transactions a second, the time to connect included where each of them connects."""
        summary = self.run["summary"]
        tps: float | None = summary.get("tps_including_connections") or summary.get("tps")
        return tps

    @property
    def is_valid(self) -> bool:
        """Whether its figures may be compared."""
        return bool(self.run["status"] == "succeeded" and self.run["validity"] == "valid")


def experiment(
    api: Api, direct: dict[str, str], pooled: dict[str, str], supervisor: Supervisor, steps: Steps
) -> list[list[Arm]]:
    """Run every arm, one after the other; the arms of each story, the direct one first."""
    stories = []
    for story, connect in STORIES:
        arms = []
        for way, target in (("direct", direct), ("pooled", pooled)):
            steps.say(f"running {DURATION_S} s {way}: {story}")
            arms.append(Arm(f"{story}, {way}", _carried_out(api, target, connect, supervisor)))
        stories.append(arms)
    return stories


def _carried_out(api: Api, target: dict[str, str], connect: bool, supervisor: Supervisor) -> dict[str, Any]:
    asked = {"target": target, "engine": "pgbench", "options": {**OPTIONS, "connect": connect}}
    run: dict[str, Any] = api.post("runs/", asked)
    deadline = time.monotonic() + ARM_WITHIN_S
    while run["status"] not in FINAL:
        if time.monotonic() > deadline:
            raise ProgramFailed(f"run {run['number']} is still {run['status']} after {ARM_WITHIN_S} s")
        supervisor.look()
        time.sleep(0.3)
        run = api.get(f"runs/{run['id']}/")
    return run


def table(stories: list[list[Arm]]) -> str:
    """The experiment's table: ratios are to the direct run of the same story."""
    rows: list[tuple[str, ...]] = [("pgbench select-only, 10 clients", "tps", "latency ms", "to direct", "validity")]
    for direct, pooled in stories:
        rows += [_row(direct, direct), _row(pooled, direct)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(_cells(row, widths)) for row in rows]
    lines.insert(1, "-" * max(len(line) for line in lines))
    return "\n".join(lines)


def _cells(row: tuple[str, ...], widths: list[int]) -> list[str]:
    first, last = row[0].ljust(widths[0]), row[4]
    return [first, *(cell.rjust(width) for cell, width in zip(row[1:4], widths[1:4], strict=True)), last]


def _row(arm: Arm, direct: Arm) -> tuple[str, ...]:
    latency = arm.run["summary"].get("latency_avg_ms")
    ratio = f"{arm.tps / direct.tps:.2f}" if arm.tps and direct.tps else "-"
    verdict = arm.run["validity"] or arm.run["status"]
    why = "; ".join([*arm.run["reasons"], arm.run["error"]]).strip("; ")
    return (
        arm.label,
        f"{arm.tps:,.0f}" if arm.tps else "-",
        f"{latency:.3f}" if latency else "-",
        ratio,
        f"{verdict} ({why})" if why else verdict,
    )
