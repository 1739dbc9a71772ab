"""`script/pooldeck`: pools, connection URIs, runs and comparisons from a shell or a CI job, over the REST API.

This one file needs Python 3.11 and click only, so it can be copied to another host. It imports nothing of the panel.
Exit codes: 0 done, 1 a gate failed (`run`, `compare`), 2 wrong usage or an error of the API.
"""

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

WAIT_S = 30
TIMEOUT_S = WAIT_S + 30
ENDED = frozenset({"succeeded", "failed", "cancelled", "timed_out", "lost"})
PAIRS = 3  # a verdict needs three valid runs of each arm
GATE_FAILED, FAILED = 1, 2
RATIO = "ratio"
Record = dict[str, Any]


class ApiError(click.ClickException):
    """The panel refused, or does not answer; `retry_after_s` where it is only too busy."""

    exit_code = FAILED
    retry_after_s = 0


@dataclass(frozen=True)
class Login:
    """The panel's URL, the token, and the certificate authority to trust (empty: the system's)."""

    url: str
    token: str
    cacert: str = ""

    @staticmethod
    def path() -> Path:
        """Return the file that `login` writes."""
        folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(folder) / "pooldeck" / "login.json"

    @classmethod
    def read(cls) -> "Login":
        """Return the stored login; POOLDECK_URL, POOLDECK_TOKEN and POOLDECK_CACERT come first."""
        path = cls.path()
        stored = json.loads(path.read_text()) if path.exists() else {}
        names = {"url": "POOLDECK_URL", "token": "POOLDECK_TOKEN", "cacert": "POOLDECK_CACERT"}
        found = {name: os.environ.get(variable) or stored.get(name, "") for name, variable in names.items()}
        if not (found["url"] and found["token"]):
            raise ApiError("No login: run `pooldeck login URL`, or set POOLDECK_URL and POOLDECK_TOKEN.")
        return cls(**found)

    def write(self) -> Path:
        """Store it where only its owner can read it."""
        path = self.path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"url": self.url, "token": self.token, "cacert": self.cacert}, file)
        return path


class Api:
    """`/api/v1/` of a panel; raises `ApiError` with the panel's own words."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self.context = ssl.create_default_context(cafile=login.cacert or None)

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 (JSON; who asks knows its record)
        """GET; `query` becomes the query string, without what is empty."""
        parameters = {name: value for name, value in query.items() if value not in ("", None)}
        return self._send("GET", f"{path}?{urllib.parse.urlencode(parameters)}" if parameters else path)

    def waited_for(self, path: str) -> Any:  # noqa: ANN401 (as `get`)
        """GET once it has settled, or after `WAIT_S`; poll instead while the panel has no place for one who waits."""
        try:
            return self.get(path, wait=WAIT_S)
        except ApiError as error:
            if not error.retry_after_s:
                raise
            time.sleep(error.retry_after_s)
            return self.get(path)

    def post(self, path: str, body: Record) -> Any:  # noqa: ANN401 (as `get`)
        """Send JSON by POST and return the answer."""
        return self._send("POST", path, json.dumps(body).encode())

    def listed(self, path: str, **query: object) -> Iterator[Record]:
        """Yield the records of a list, page by page."""
        page = 1
        while True:
            found = self.get(path, page=page, page_size=200, **query)
            yield from found["results"]
            if not found["next"]:
                return
            page += 1

    def _send(self, method: str, path: str, body: bytes | None = None) -> Any:  # noqa: ANN401 (as `get`)
        headers = {"Authorization": f"Bearer {self.login.token}", "Content-Type": "application/json"}
        url = f"{self.login.url.rstrip('/')}/api/v1/{path}"
        try:
            request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310 (the reader's own panel)
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self.context) as answer:  # noqa: S310 (as above)
                return json.load(answer)
        except urllib.error.HTTPError as error:
            refused = ApiError(f"{method} {path}: {error.code}: {_reason(error.read())}")
            refused.retry_after_s = int(error.headers.get("Retry-After") or 0) if error.code == 503 else 0
            raise refused from None
        except (OSError, ValueError) as error:
            raise ApiError(f"{self.login.url} does not answer as a panel does: {error}") from None


def _reason(body: bytes) -> str:
    """Return an error's sentences: of `detail`, or of each field."""
    try:
        found = json.loads(body)
    except ValueError:
        return body[:200].decode(errors="replace")
    if isinstance(found, dict) and set(found) == {"detail"}:
        return str(found["detail"])
    return json.dumps(found, ensure_ascii=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def pooldeck() -> None:
    """Work with a Pooldeck panel: its pools, their connection URIs, runs and comparisons."""


@pooldeck.command()
@click.argument("url")
@click.option("--cacert", type=click.Path(exists=True, dir_okay=False), help="The certificate authority to trust.")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input instead of asking for it.")
def login(url: str, cacert: str | None, token_stdin: bool) -> None:
    """Check an API token with the panel at URL, and store both for the other commands."""
    token = sys.stdin.readline().strip() if token_stdin else click.prompt("API token", hide_input=True)
    found = Login(url, token, str(Path(cacert).resolve()) if cacert else "")
    Api(found).get("clusters/", page_size=1)
    click.echo(f"Logged in to {url}; stored in {found.write()}.")


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@pooldeck.command()
@click.option("--cluster", default="", help="Only the pools of this cluster (name).")
@as_json
def pools(cluster: str, as_json: bool) -> None:
    """List the pools with database, user, mode, size and state."""
    api = Api(Login.read())
    query = {"cluster": _only("cluster", cluster, api.listed("clusters/"))["id"]} if cluster else {}
    found = list(api.listed("pools/", **query))
    if as_json:
        return _print_json(found)
    columns = ("name", "database", "user", "mode", "size", "state")
    _print_table([one.upper() for one in columns], [[one[key] for key in columns] for one in found])


@pooldeck.command()
@click.argument("pool")
@click.option("--as", "kind", default="uri", show_default=True, help="uri, env, psql, jdbc, django, go, node …")
@click.option("--reveal", is_flag=True, help="With the password; the token needs the scope for it.")
def uri(pool: str, kind: str, reveal: bool) -> None:
    """Print the connection URI of POOL (name or id)."""
    api = Api(Login.read())
    path = f"pools/{_pool(api, pool)['id']}/connection/"
    click.echo(api.get(path, **{"as": kind, "reveal": "1" if reveal else ""})["text"])


@dataclass(frozen=True)
class Gate:
    """A limit of a metric: at least, or at most."""

    metric: str
    bound: str
    limit: float

    @classmethod
    def read(cls, text: str, bound: str, default: str) -> "Gate":
        """Read METRIC=NUMBER, or NUMBER alone for the default metric."""
        metric, _, number = text.rpartition("=")
        try:
            return cls(metric or default, bound, float(number))
        except ValueError:
            raise click.UsageError(f"{text!r} is not a limit: use METRIC=NUMBER, such as tps=1000") from None

    @classmethod
    def of(cls, threshold: Record) -> "Gate":
        """Return the limit of a threshold of the API."""
        bound = "at_least" if threshold.get("at_least") is not None else "at_most"
        return cls(threshold["metric"], bound, threshold[bound])

    def as_threshold(self) -> Record:
        """Parse a threshold of the command line into the API's JSON."""
        return {"metric": self.metric, self.bound: self.limit}

    def judge(self, value: float | None) -> str:
        """Return why it is not met; empty where it is."""
        words = f"{self.metric} {self.bound.replace('_', ' ')} {self.limit:g}"
        if value is None:
            return f"{words}: there is no figure, as too few runs are valid"
        met = value >= self.limit if self.bound == "at_least" else value <= self.limit
        return "" if met else f"{words}: it is {value:g}"


@pooldeck.command()
@click.argument("pool")
@click.option("-c", "--clients", default=8, show_default=True, help="Clients of pgbench.")
@click.option("-T", "--time", "duration", default=10, show_default=True, help="Seconds of each run.")
@click.option("-b", "--builtin", default="select-only", show_default=True, help="Built-in script of pgbench.")
@click.option("-C", "--connect", is_flag=True, help="A new connection for each transaction.")
@click.option("-O", "--option", "options", multiple=True, metavar="NAME=JSON", help="Any other option of the run.")
@click.option("--pair", is_flag=True, help="Also run directly against the server, in turn, and compare.")
@click.option("--repeat", type=click.IntRange(1, 20), help=f"Runs, or pairs; with --pair {PAIRS}, else 1.")
@click.option("--wait", is_flag=True, help="Wait until all have ended; implied by the limits.")
@click.option("--fail-under", multiple=True, metavar="[METRIC=]NUMBER", help="Exit code 1 below; of the ratio or tps.")
@click.option("--point-ratio", is_flag=True, help="Judge the ratio itself, not the end of its interval: luck may pass.")
@click.option("--fail-over", multiple=True, metavar="METRIC=NUMBER", help="Exit code 1 above.")
@as_json
def run(pool: str, **asked: Any) -> None:
    """Start pgbench through POOL (name or id), and judge what it measured."""
    api = Api(Login.read())
    default = RATIO if asked["pair"] else "tps"
    gates = [Gate.read(text, "at_least", default) for text in asked["fail_under"]]
    gates += [Gate.read(text, "at_most", default) for text in asked["fail_over"]]
    if not asked["pair"] and any(gate.metric == RATIO for gate in gates):
        raise click.UsageError("a ratio needs something to compare with: add --pair")
    first = api.post("runs/", _request(_pool(api, pool)["id"], asked, gates))
    found = list(api.listed("runs/", group=first["group"], ordering="number")) if first["group"] else [first]
    if not (asked["wait"] or gates):
        return _print_json(found) if asked["as_json"] else _print_runs(found)
    ended = [_ended(api, one) for one in found]
    comparison = api.get("comparisons/", group=first["group"]) if asked["pair"] else None
    _report(ended, comparison, asked["as_json"])
    _leave(_faults(ended) + ratio_faults(comparison, gates, is_point=asked["point_ratio"]))


def _request(pool: str, asked: Mapping[str, Any], gates: Sequence[Gate]) -> Record:
    """Return the request for the runs; the panel itself judges all limits but that of the ratio."""
    options: Record = {name: asked[name] for name in ("clients", "duration", "builtin")}
    options |= {"connect": True} if asked["connect"] else {}
    return {
        "target": {"pool": pool},
        "options": options | dict(map(_option, asked["options"])),
        "pair": asked["pair"],
        "repeat": asked["repeat"] or (PAIRS if asked["pair"] else 1),
        "thresholds": [gate.as_threshold() for gate in gates if gate.metric != RATIO],
    }


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{text!r} is not an option: use NAME=JSON, such as rate=500")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _ended(api: Api, run: Record) -> Record:
    """Wait for the end of a run, and tell on standard error what it is at."""
    while run["status"] not in ENDED:
        at = "" if (percent := run["progress_percent"]) is None else f", {percent:.0f} %"
        click.echo(f"run {run['number']}: {run['status']}{at}", err=True)
        run = api.waited_for(f"runs/{run['id']}/")
    return run


def _faults(runs: Sequence[Record]) -> list[str]:
    """Return why the runs close the gate: those that are not valid, or miss a limit."""
    found = []
    for one in runs:
        if one["validity"] != "valid":
            reasons = "; ".join(one["reasons"]) or one["error"]
            found.append(f"run {one['number']} is {one['validity'] or one['status']}: {reasons}")
        missed = [Gate.of(limit).judge(limit["value"]) for limit in one["thresholds"] if not limit["passed"]]
        found += [f"run {one['number']}: {reason}" for reason in missed]
    return found


def ratio_faults(comparison: Record | None, gates: Sequence[Gate], *, is_point: bool) -> list[str]:
    """Return why the pooled arm's ratio to the direct one closes the gate.

    Judged is the end of its interval that has to hold, so that luck passes no gate; with `is_point` the ratio itself.
    """
    judged = [gate for gate in gates if gate.metric == RATIO]
    arms = (comparison or {"arms": []})["arms"]
    arm = next((one for one in arms if one["ratio"] is not None and one["verdict"] is not None), None)
    if is_point or arm is None:
        found = [gate.judge(arm["ratio"] if arm else None) for gate in judged]
    else:
        found = [_interval_fault(gate, arm) for gate in judged]
    return [fault for fault in found if fault]


def _interval_fault(gate: Gate, arm: Record) -> str:
    """Return why the end of the interval does not meet the limit; empty where it does."""
    if arm["interval"] is None:
        limit = f"{RATIO} {gate.bound.replace('_', ' ')} {gate.limit:g}"
        return f"{limit}: it is {arm['ratio']:g} without an interval: ask for more pairs with --repeat"
    low, high = arm["interval"]
    fault = gate.judge(low if gate.bound == "at_least" else high)
    end = "lower" if gate.bound == "at_least" else "upper"
    return f"{fault}, the {end} end of the 95 % interval of {arm['ratio']:g}" if fault else ""


@pooldeck.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--metric", default="tps", show_default=True)
@as_json
def compare(runs: tuple[str, ...], metric: str, as_json: bool) -> None:
    """Compare RUNS (numbers or ids): repeats of one configuration form an arm."""
    api = Api(Login.read())
    ids = ",".join(_run_id(api, text) for text in runs)
    found = api.get("comparisons/", runs=ids, metric=metric)
    _print_json(found) if as_json else _print_comparison(found)


def _run_id(api: Api, text: str) -> str:
    return str(_only("run", text, api.get("runs/", number=text)["results"])["id"]) if text.isdecimal() else text


def _pool(api: Api, name: str) -> Record:
    return _only("pool", name, api.listed("pools/"), "; `pooldeck pools --json` lists them")


def _only(kind: str, asked: str, listed: Iterable[Record], hint: str = "") -> Record:
    """Return the record of that name, number or id; raise `ApiError` where there is none, or more than one."""
    found = [one for one in listed if asked in (one.get("name"), str(one.get("number")), one["id"])]
    if len(found) != 1:
        why = f"Several {kind}s are named {asked}: use the id" if found else f"There is no {kind} {asked}"
        raise ApiError(f"{why}{hint}.")
    return found[0]


def _report(runs: Sequence[Record], comparison: Record | None, as_json: bool) -> None:
    if as_json:
        return _print_json({"runs": runs, "comparison": comparison})
    _print_runs(runs)
    if comparison:
        _print_comparison(comparison)


def _print_runs(runs: Sequence[Record]) -> None:
    rows = [
        [one["number"], one["target"]["label"], one["status"], one["validity"] or "–", _figure(one["summary"]["tps"])]
        for one in runs
    ]
    _print_table(("RUN", "TARGET", "STATUS", "VALIDITY", "TPS"), rows)


def _print_comparison(found: Record) -> None:
    heads = ("ARM", "VALID", found["metric"].upper(), "RATIO", "95 %", "VERDICT")
    _print_table(heads, [_arm_row(arm) for arm in found["arms"]])
    click.echo(found["conclusion"])


def _arm_row(arm: Record) -> list[object]:
    figures, interval = map(_figure, (arm["median"], arm["ratio"])), "–".join(map(_figure, arm["interval"] or ()))
    return [arm["label"], arm["n_valid"], *figures, interval or "–", arm["verdict"] or "–"]


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    texts = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in texts) for at in range(len(head))]
    for row in texts:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_json(found: object) -> None:
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))


def _leave(faults: Sequence[str]) -> NoReturn:
    """End with what keeps the gate closed."""
    for fault in faults:
        click.echo(f"gate failed: {fault}", err=True)
    sys.exit(GATE_FAILED if faults else 0)


if __name__ == "__main__":
    pooldeck(prog_name="pooldeck")
