"""Commands about runs: start them and judge them by limits, and compare those that ended."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from . import reports
from .client import Api, Login, only, pool_named
from .gates import RATIO, Gate, leave, ratio_faults, run_faults
from .output import as_json, figure, print_json, print_table
from .records import Arm, Comparison, Run, Stage

ENDED = frozenset({"succeeded", "failed", "cancelled", "timed_out", "lost"})
STAGE = re.compile(
    r"(?P<time>[0-9]{1,6})(?P<unit>[smh]?):(?P<clients>[0-9]{1,6})(?::(?P<rate>[0-9]+(?:\.[0-9]+)?)(?:/s)?)?"
)
SECONDS = {"s": 1, "m": 60, "h": 3600}
PAIRS = 3  # a verdict needs three valid runs of each arm


@click.command()
@click.argument("pool")
@click.option("-c", "--clients", default=8, show_default=True, help="Clients of pgbench.")
@click.option("-T", "--time", "duration", default=10, show_default=True, help="Seconds of each run.")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    metavar="TIME:CLIENTS[:RATE]",
    help="A stage of the load, in their order, such as 30s:10 or 2m:50:500; replaces -c and -T.",
)
@click.option("-b", "--builtin", default="select-only", show_default=True, help="Built-in script of pgbench.")
@click.option("-C", "--connect", is_flag=True, help="A new connection for each transaction.")
@click.option("-O", "--option", "options", multiple=True, metavar="NAME=JSON", help="Any other option of the run.")
@click.option("--pair", is_flag=True, help="Also run directly against the server, in turn, and compare.")
@click.option("--repeat", type=click.IntRange(1, 20), help=f"Runs, or pairs; with --pair {PAIRS}, else 1.")
@click.option("--sweep-clients", metavar="N,N,…", default="", help="Runs with each of these numbers; replaces -c.")
@click.option("--wait", is_flag=True, help="Wait until all have ended; implied by the limits.")
@click.option("--fail-under", multiple=True, metavar="[METRIC=]NUMBER", help="Exit code 1 below; of the ratio or tps.")
@click.option("--point-ratio", is_flag=True, help="Judge the ratio itself, not the end of its interval: luck may pass.")
@click.option("--junit", metavar="FILE", default="", help="Write a report as JUnit's XML; implies --wait.")
@click.option("--markdown", metavar="FILE", default="", help="Write a summary as Markdown; implies --wait.")
@click.option("--fail-over", multiple=True, metavar="METRIC=NUMBER", help="Exit code 1 above.")
@as_json
def run(pool: str, **asked: Any) -> None:
    """Start pgbench through POOL (name or id), and judge what it measured."""
    api = Api(Login.read())
    default = RATIO if asked["pair"] else "tps"
    gates = [Gate.read(text, "at_least", default) for text in asked["fail_under"]]
    gates += [Gate.read(text, "at_most", default) for text in asked["fail_over"]]
    _check_ratio(gates, asked)
    first: Run = api.post("runs/", _request(pool_named(api, pool)["id"], asked, gates))
    found: list[Run] = list(api.listed("runs/", group=first["group"], ordering="number")) if first["group"] else [first]
    if not (asked["wait"] or gates or asked["junit"] or asked["markdown"]):
        return print_json(found) if asked["as_json"] else _print_runs(found)
    ended = [_ended(api, one) for one in found]
    comparison: Comparison | None = (
        api.get("comparisons/", group=first["group"]) if asked["pair"] or asked["sweep_clients"] else None
    )
    _report(ended, comparison, asked["as_json"])
    of_ratio = ratio_faults(comparison, gates, is_point=asked["point_ratio"])
    paired = None if asked["sweep_clients"] else comparison
    reports.write(ended, paired, of_ratio, junit=asked["junit"], markdown=asked["markdown"])
    leave(run_faults(ended) + of_ratio)


def _check_ratio(gates: Sequence[Gate], asked: Mapping[str, Any]) -> None:
    if not any(gate.metric == RATIO for gate in gates):
        return
    if not asked["pair"]:
        raise click.UsageError("a ratio needs something to compare with: add --pair")
    if asked["sweep_clients"]:
        raise click.UsageError("a sweep has a ratio for each step: limit another metric, or leave out --sweep-clients")


def _request(pool: str, asked: Mapping[str, Any], gates: Sequence[Gate]) -> dict[str, object]:
    """Return the request for the runs; the panel itself judges all limits but that of the ratio."""
    options = {"builtin": asked["builtin"]} | (_staged(asked["stages"]) or _constant(asked))
    options |= {"connect": True} if asked["connect"] else {}
    # Left out without a sweep, so that a panel of an older release takes the request too.
    swept = {"sweep_clients": _clients(asked["sweep_clients"])} if asked["sweep_clients"] else {}
    return {
        **swept,
        "target": {"pool": pool},
        "options": options | dict(map(_option, asked["options"])),
        "pair": asked["pair"],
        "repeat": asked["repeat"] or (PAIRS if asked["pair"] else 1),
        "thresholds": [gate.as_threshold() for gate in gates if gate.metric != RATIO],
    }


def _constant(asked: Mapping[str, Any]) -> dict[str, object]:
    return {name: asked[name] for name in ("clients", "duration")}


def _staged(stages: Sequence[str]) -> dict[str, object]:
    """Return the options of a load with stages; empty without any."""
    if not stages:
        return {}
    source = click.get_current_context().get_parameter_source
    if any(source(name) == ParameterSource.COMMANDLINE for name in ("clients", "duration")):
        raise click.UsageError("each stage has a time and clients of its own: leave out -c and -T")
    return {"stages": [_stage(text) for text in stages]}


def _stage(text: str) -> dict[str, float]:
    if not (found := STAGE.fullmatch(text)):
        raise click.UsageError(f"{text!r} is not a stage: use TIME:CLIENTS, such as 30s:10, or 2m:50:500 with a rate")
    seconds = int(found["time"]) * SECONDS[found["unit"] or "s"]
    stage: dict[str, float] = {"duration_s": seconds, "clients": int(found["clients"])}
    return stage | ({"rate": float(found["rate"])} if found["rate"] else {})


def _clients(text: str) -> list[int]:
    try:
        return [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise click.UsageError(f"{text!r} is not a list of clients: use numbers such as 1,2,4,8") from None


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{text!r} is not an option: use NAME=JSON, such as rate=500")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _ended(api: Api, run: Run) -> Run:
    """Wait for the end of a run, and tell on standard error what it is at."""
    while run["status"] not in ENDED:
        at = "" if (percent := run["progress_percent"]) is None else f", {percent:.0f} %"
        click.echo(f"run {run['number']}: {run['status']}{at}", err=True)
        run = api.waited_for(f"runs/{run['id']}/")
    return run


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--metric", default="tps", show_default=True)
@as_json
def compare(runs: tuple[str, ...], metric: str, as_json: bool) -> None:
    """Compare RUNS (numbers or ids): repeats of one configuration form an arm."""
    api = Api(Login.read())
    ids = ",".join(_run_id(api, text) for text in runs)
    found: Comparison = api.get("comparisons/", runs=ids, metric=metric)
    print_json(found) if as_json else _print_comparison(found)


def _run_id(api: Api, text: str) -> str:
    if not text.isdecimal():
        return text
    listed: list[Run] = api.get("runs/", number=text)["results"]
    return only("run", text, listed)["id"]


def _report(runs: Sequence[Run], comparison: Comparison | None, as_json: bool) -> None:
    if as_json:
        return print_json({"runs": runs, "comparison": comparison})
    _print_runs(runs)
    if comparison:
        _print_comparison(comparison)


def _print_runs(runs: Sequence[Run]) -> None:
    rows = [
        [one["number"], one["target"]["label"], one["status"], one["validity"] or "–", figure(one["summary"]["tps"])]
        for one in runs
    ]
    print_table(("RUN", "TARGET", "STATUS", "VALIDITY", "TPS"), rows)
    for one in runs:
        if stages := one["summary"].get("stages"):
            _print_stages(stages)


def _print_stages(stages: Sequence[Stage]) -> None:
    rows = [
        [number, stage["clients"], f"{stage['duration_s']} s", stage.get("status", "–"), figure(stage.get("tps"))]
        for number, stage in enumerate(stages, 1)
    ]
    print_table(("STAGE", "CLIENTS", "TIME", "STATUS", "TPS"), rows)


def _print_comparison(found: Comparison) -> None:
    heads = ("ARM", "VALID", found["metric"].upper(), "RATIO", "95 %", "VERDICT")
    print_table(heads, [_arm_row(arm) for arm in found["arms"]])
    click.echo(found["conclusion"])


def _arm_row(arm: Arm) -> list[object]:
    figures, interval = map(figure, (arm["median"], arm["ratio"])), "–".join(map(figure, arm["interval"] or ()))
    return [arm["label"], arm["n_valid"], *figures, interval or "–", arm["verdict"] or "–"]
