"""The demo experiment through the REST API: playbooks on the demo cluster, each with direct and pooled arms."""

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.progress import Steps
from panel.quickstart.supervise import Supervisor

SCALE = 10
ENDED = {"succeeded", "failed", "cancelled"}
POLL_EVERY_S = 1.0  # each answer compares all runs so far, on the processors that are measured
RUN_WITHIN_S, SET_UP_WITHIN_S = 20, 240  # limits for a run and for the setup, in addition to the load
DIRECT = {"direct", "none"}  # endpoints of the playbooks without a pooler
HEADINGS = (
    "arm",
    "route",
    "tps, median",
    "low to high",
    "latency ms",
    "connect ms",
    "to direct",
    "95 % interval",
    "published tps",
    "valid",
    "verdict",
)


class Api:
    """`/api/v1/` with a token."""

    def __init__(self, url: str, token: str, context: ssl.SSLContext | None = None) -> None:
        self.url, self.token, self.context = url, token, context

    def get(self, path: str) -> Any:  # noqa: ANN401 (JSON; who asks says which record it is)
        """Send a GET and return the parsed JSON."""
        return self._answer(Request(f"{self.url}/api/v1/{path}"))  # noqa: S310 (our own address)

    def post(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 (as `get`)
        """Send a POST and return the parsed JSON."""
        request = Request(f"{self.url}/api/v1/{path}", data=json.dumps(body).encode())  # noqa: S310 (our own address)
        request.add_header("Content-Type", "application/json")
        return self._answer(request)

    def _answer(self, request: Request) -> Any:  # noqa: ANN401 (as `get`)
        request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urlopen(request, timeout=30, context=self.context) as answer:  # noqa: S310 (our own address)
                return json.load(answer)
        except HTTPError as error:
            body = error.read().decode(errors="replace")
            raise ProgramFailed(f"{request.method} {request.full_url} answered {error.code}: {body}") from error


class ArmRun(TypedDict):
    """A run of an arm as the API returns it, as far as it is read here."""

    number: int
    outcome: str
    outcome_words: str


class Arm(TypedDict):
    """An arm as the API returns it, as far as it is read here."""

    key: str
    label: str
    values: dict[str, str]
    baseline: str | None
    skipped: str
    runs: list[ArmRun]
    n_valid: int
    median: float | None
    low: float | None
    high: float | None
    ratio: float | None
    interval: tuple[float, float] | None
    figures: dict[str, float | None]
    published: dict[str, float]
    verdict: str | None


class Progress(TypedDict):
    """The number of runs that have ended, and that of all."""

    done: int
    total: int


class Experiment(TypedDict):
    """An experiment as the API returns it, as far as it is read here."""

    id: str
    number: int
    state: str
    progress: Progress
    arms: list[Arm]
    reasons: list[str]
    conclusion: str
    notes: list[str]


@dataclass(frozen=True)
class Part:
    """A playbook in a short form, whose blocks go on until its arms are decided or `seconds` are over.

    `refused` are the arms for which the source reports a refusal.
    """

    playbook: str
    arms: tuple[str, ...]
    duration_s: int
    seconds: int
    refused: tuple[str, ...] = ()

    def request(self, cluster_id: str) -> dict[str, object]:
        """Return the body of POST experiments/."""
        return {
            "playbook": self.playbook,
            "cluster": cluster_id,
            "arms": list(self.arms),
            "seconds": self.seconds,
            "options": {"duration": self.duration_s, "warm_up": None},  # a first look takes a minute and a half
            "dataset": {"scale": SCALE},
        }

    @property
    def within_s(self) -> float:
        """The deadline on a busy host."""
        return SET_UP_WITHIN_S + self.seconds + ENOUGH_REPEATS * len(self.arms) * (self.duration_s + RUN_WITHIN_S)


PARTS = (
    Part("reconnect", ("10-scram-none", "10-scram-pgbouncer", "10-scram-pgpool"), 2, 70),
    # 150 logins through the pool take half a second, and several on a busy host
    Part("burst", ("150-direct", "150-pool97"), 6, 45, refused=("150-direct",)),
)


@dataclass(frozen=True)
class MeasuredPart:
    """A part carried out: the playbook and the experiment as the API returns them."""

    part: Part
    title: str
    experiment: Experiment = field(repr=False)

    @property
    def is_valid(self) -> bool:
        """Tell whether it succeeded with enough valid runs of each arm, or refused ones where that is the result.

        An arm that can't be measured here, which says why, is left out; one has to be left beside its baseline.
        """
        arms = self.experiment["arms"]
        measured = {arm["key"] for arm in arms if self._counts(arm)}
        skipped = {arm["key"] for arm in arms if arm["skipped"]}
        is_whole = measured | skipped == set(self.part.arms)
        is_compared = any(arm["key"] in measured and arm["baseline"] in measured for arm in arms)
        return self.experiment["state"] == "succeeded" and is_whole and is_compared

    def _counts(self, arm: Arm) -> bool:
        refused = sum(run["outcome"] == "refused" for run in arm["runs"]) if arm["key"] in self.part.refused else 0
        return max(arm["n_valid"], refused) >= ENOUGH_REPEATS

    def lost(self) -> Iterator[str]:
        """Yield a sentence for each arm that was not measured, and for each run that does not count."""
        for arm in self.experiment["arms"]:
            if arm["skipped"]:
                yield f"{arm['label']} was not measured: {arm['skipped']}"
            results = {"succeeded", "refused"} if arm["key"] in self.part.refused else {"succeeded"}
            for run in arm["runs"]:
                if run["outcome"] not in results:
                    yield f"Run {run['number']} ({arm['label']}) does not count: {run['outcome_words']}"


def experiment(api: Api, cluster_id: str, supervisor: Supervisor, steps: Steps) -> list[MeasuredPart]:
    """Carry out all parts, one after the other."""
    return [_carried_out(api, part, cluster_id, supervisor, steps) for part in PARTS]


def _carried_out(api: Api, part: Part, cluster_id: str, supervisor: Supervisor, steps: Steps) -> MeasuredPart:
    """Start the experiment and wait until it has ended; raises `ProgramFailed` at the deadline."""
    title = str(api.get(f"playbooks/{part.playbook}/")["title"])
    blocks = f"blocks of {len(part.arms)} arms of {part.duration_s} s each"
    steps.report(f"running the playbook {part.playbook}: {blocks}, until all are decided or {part.seconds} s are over")
    record: Experiment = api.post("experiments/", part.request(cluster_id))
    deadline = time.monotonic() + part.within_s
    while record["state"] not in ENDED:
        if time.monotonic() > deadline:
            done = record["progress"]
            counted = f"{done['done']} of {done['total']} runs have ended"
            raise ProgramFailed(
                f"experiment {record['number']} is {record['state']} after {part.within_s} s: {counted}"
            )
        supervisor.poll()
        time.sleep(POLL_EVERY_S)
        record = api.get(f"experiments/{record['id']}/")
    return MeasuredPart(part, title, record)


def report(measured: list[MeasuredPart]) -> str:
    """Format each part: its title, its table, the conclusion, then what does not count, with reasons."""
    return "\n\n".join("\n".join(_paragraph(one)) for one in measured)


def _paragraph(one: MeasuredPart) -> Iterator[str]:
    blocks = max((len(arm["runs"]) for arm in one.experiment["arms"]), default=0)
    yield f"{one.title} (playbook {one.part.playbook}: pgbench, {blocks} blocks, {one.part.duration_s} s for each arm)"
    yield from _table(one.experiment["arms"])
    yield ""
    if one.experiment["state"] != "succeeded":
        yield f"Experiment {one.experiment['number']} {one.experiment['state']}."
    yield from filter(None, [*one.experiment["reasons"], one.experiment["conclusion"], *one.experiment["notes"]])
    yield from one.lost()


def _table(arms: list[Arm]) -> list[str]:
    rows = [HEADINGS, *(_row(arm, arms) for arm in arms)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ["  ".join(_cells(row, widths)).rstrip() for row in rows]
    lines.insert(1, "-" * max(len(line) for line in lines))
    return lines


def _cells(row: tuple[str, ...], widths: list[int]) -> list[str]:
    texts = (0, 1, len(row) - 1)
    return [cell.ljust(widths[at]) if at in texts else cell.rjust(widths[at]) for at, cell in enumerate(row)]


def _row(arm: Arm, arms: list[Arm]) -> tuple[str, ...]:
    interval = arm["interval"]
    median, low, high = arm["median"], arm["low"], arm["high"]
    return (
        arm["label"],
        "direct" if arm["values"]["endpoint"] in DIRECT else "pooled",
        "-" if median is None else _rate(median),
        "-" if low is None or high is None else f"{_rate(low)} to {_rate(high)}",
        _number(arm["figures"].get("latency_avg_ms"), 3),
        _number(arm["figures"].get("average_connection_ms"), 3),
        _number(arm["ratio"], 2),
        f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "-",
        _number(arm["published"].get("tps"), 2),
        f"{arm['n_valid']} of {len(arm['runs'])}",
        arm["verdict"] or ("baseline" if arm["key"] in {other["baseline"] for other in arms} else "-"),
    )


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def _number(value: float | None, digits: int) -> str:
    return f"{value:,.{digits}f}" if value else "-"
