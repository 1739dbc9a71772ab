"""How many of a load's transactions are logged: enough for a firm p99, and never so many that reading them costs."""

from typing import Any

from benchmarks.models import FINAL, Run

WANTED = 200_000  # logged transactions in all; a p99 of theirs has 2,000 above it
LINES_A_SECOND = 2_000  # reading them takes a quarter of a hundredth of a processor (tests.bench.latencies)
LEAST = 0.0001
LOOKED_AT = 20  # earlier runs of the target
# Of a target that was never loaded, guessed high: a rate that is too low costs samples, one too high processor time.
UNKNOWN_TPS = 50_000.0
UNKNOWN_RECONNECTING_TPS = 10_000.0
ALIKE = ("builtin", "scripts", "connect")


def options_of(run: Run) -> dict[str, Any]:
    """The run's options with the share to log, where it logs and none was chosen."""
    options: dict[str, Any] = run.options
    if options.get("percentiles") and not options.get("sampling_rate"):
        share = rate(options, expected_tps(run))
        return options | ({"sampling_rate": share} if share < 1 else {})
    return options


def rate(options: dict[str, Any], tps: float) -> float:
    """The share of the transactions to log where so many a second are expected; pure."""
    per_client, duration_s = options.get("transactions"), options.get("duration")
    expected = per_client * (options.get("clients") or 1) if per_client else tps * (duration_s or 1)
    share = min(1.0, WANTED / expected, LINES_A_SECOND / tps)
    return max(LEAST, round(share, 4))


def expected_tps(run: Run) -> float:
    """What the last comparable run of that target reached, were it to grow with the clients; a rate is never passed."""
    reached = _last_reached(run) or (UNKNOWN_RECONNECTING_TPS if run.options.get("connect") else UNKNOWN_TPS)
    asked = run.options.get("rate")
    return max(1.0, min(reached, asked) if asked else reached)


def _last_reached(run: Run) -> float | None:
    same = Run.objects.filter(
        engine=run.engine, cluster=run.cluster_id, database=run.database, pool=run.pool_id, status__in=FINAL
    )
    for options, summary in same.order_by("-number").values_list("options", "summary")[:LOOKED_AT]:
        alike = all(options.get(name) == run.options.get(name) for name in ALIKE)
        if alike and not options.get("rate") and (tps := summary.get("tps")):
            more = (run.options.get("clients") or 1) / (options.get("clients") or 1)
            return float(tps) * max(1.0, more)
    return None
