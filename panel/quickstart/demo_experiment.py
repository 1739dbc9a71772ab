"""The demo experiment through the REST API: direct and pooled runs, with kept and with new connections."""

import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.progress import Steps
from panel.quickstart.supervise import Supervisor

DURATION_S, PAIRS = 6, 4
OPTIONS = {"builtin": "select-only", "clients": 10, "threads": 2, "duration": DURATION_S, "progress": 1}
SCENARIOS = (("connections kept", False), ("a new one each transaction (-C)", True))
FINAL = {"succeeded", "failed", "cancelled", "timed_out", "lost"}
SCENARIO_WITHIN_S = 2 * PAIRS * (DURATION_S + 20) + 60
HEADINGS = ("tps, median", "low to high", "latency ms", "connect ms", "to direct", "95 % interval", "valid", "verdict")
METRICS = ("tps", "latency_avg_ms", "average_connection_ms")


class Api:
    """`/api/v1/` with a token."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token

    def get(self, path: str) -> Any:
        """Send a GET and return the parsed JSON."""
        return self._answer(Request(f"{self.url}/api/v1/{path}"))  # noqa: S310 (our own address)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a POST and return the parsed JSON."""
        request = Request(f"{self.url}/api/v1/{path}", data=json.dumps(body).encode())  # noqa: S310 (our own address)
        request.add_header("Content-Type", "application/json")
        return self._answer(request)

    def _answer(self, request: Request) -> Any:
        request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urlopen(request, timeout=30) as answer:  # noqa: S310 (our own address)
                return json.load(answer)
        except HTTPError as error:
            reported = error.read().decode(errors="replace")
            raise ProgramFailed(f"{request.method} {request.full_url} answered {error.code}: {reported}") from error


@dataclass(frozen=True)
class Scenario:
    """Pairs of direct and pooled runs, as the API compares them by throughput, latency and the time to connect."""

    label: str
    tps: dict[str, Any]
    latency: dict[str, Any]
    connecting: dict[str, Any]

    @property
    def is_valid(self) -> bool:
        """Tell whether both arms have enough valid runs; a few may be lost to other processes on the host."""
        arms = self.tps["arms"]
        return len(arms) == 2 and all(arm["n_valid"] >= ENOUGH_REPEATS for arm in arms)


def experiment(api: Api, pooled: dict[str, str], supervisor: Supervisor, steps: Steps) -> list[Scenario]:
    """Run both scenarios, one after the other: alternating pairs of direct and pooled runs."""
    scenarios = []
    for label, connect in SCENARIOS:
        steps.report(f"running {PAIRS} pairs of {DURATION_S} s, direct and pooled in turn: {label}")
        group = _carried_out(api, pooled, connect, supervisor)
        found = [api.get(f"comparisons/?group={group}&metric={metric}") for metric in METRICS]
        scenarios.append(Scenario(label, *found))
    return scenarios


def _carried_out(api: Api, pooled: dict[str, str], connect: bool, supervisor: Supervisor) -> str:
    """Run the pairs and wait until all have ended; return their group."""
    asked = {"target": pooled, "engine": "pgbench", "options": {**OPTIONS, "connect": connect}}
    group = str(api.post("runs/", asked | {"pair": True, "repeat": PAIRS})["group"])
    deadline = time.monotonic() + SCENARIO_WITHIN_S
    while going_on := _going_on(api, group):
        if time.monotonic() > deadline:
            raise ProgramFailed(f"{', '.join(going_on)} after {SCENARIO_WITHIN_S} s")
        supervisor.poll()
        time.sleep(0.3)
    return group


def _going_on(api: Api, group: str) -> list[str]:
    runs = api.get(f"runs/?group={group}&ordering=number")["results"]
    return [f"run {run['number']} is still {run['status']}" for run in runs if run["status"] not in FINAL]


def table(scenarios: list[Scenario]) -> str:
    """Format the table, then the conclusions, then the runs that do not count, with reasons."""
    load = f"pgbench select-only, {OPTIONS['clients']} clients, {PAIRS} pairs of {DURATION_S} s"
    rows: list[tuple[str, ...]] = [(load, *HEADINGS)]
    for scenario in scenarios:
        rows += _rows(scenario)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(_cells(row, widths)).rstrip() for row in rows]
    lines.insert(1, "-" * max(len(line) for line in lines))
    return "\n".join([*lines, "", *_sentences(scenarios)])


def _cells(row: tuple[str, ...], widths: list[int]) -> list[str]:
    last = len(row) - 1
    return [cell.ljust(widths[at]) if at in (0, last) else cell.rjust(widths[at]) for at, cell in enumerate(row)]


def _rows(scenario: Scenario) -> list[tuple[str, ...]]:
    return [
        _row(f"{scenario.label}, {arm['label']}", arm, *_times(scenario, arm["key"])) for arm in scenario.tps["arms"]
    ]


def _times(scenario: Scenario, key: str) -> list[str]:
    """Return the medians of latency and of connection time; a dash where the arm has none."""
    found = (
        {arm["key"]: arm["median"] for arm in by["arms"]}.get(key) for by in (scenario.latency, scenario.connecting)
    )
    return [f"{median:.3f}" if median else "-" for median in found]


def _row(label: str, arm: dict[str, Any], latency: str, connecting: str) -> tuple[str, ...]:
    has_figures, interval = arm["median"] is not None, arm["interval"]
    return (
        label,
        f"{arm['median']:,.0f}" if has_figures else "-",
        f"{arm['low']:,.0f} to {arm['high']:,.0f}" if has_figures else "-",
        latency,
        connecting,
        f"{arm['ratio']:.2f}" if arm["ratio"] else "-",
        f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "-",
        f"{arm['n_valid']} of {len(arm['runs'])}",
        arm["verdict"] or "baseline",
    )


def _sentences(scenarios: list[Scenario]) -> list[str]:
    described = [
        f"{scenario.label[0].upper()}{scenario.label[1:]}: {scenario.tps['conclusion']}" for scenario in scenarios
    ]
    for scenario in scenarios:
        for arm in scenario.tps["arms"]:
            lost = [run for run in arm["runs"] if run["outcome"] != "succeeded"]
            described += [
                f"Run {run['number']} ({arm['label']}) does not count: {run['outcome_words']}" for run in lost
            ]
    return described
