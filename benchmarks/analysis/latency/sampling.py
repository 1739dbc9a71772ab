"""How many of a load's transactions are logged: enough for a firm p99, and never so many that reading them costs."""

from typing import Any

from benchmarks.analysis.latency.histogram import FIRM_COUNT
from benchmarks.engines import engine
from benchmarks.models import FINAL, Run

WANTED = 200_000  # logged transactions in all; a p99 of theirs has 2,000 above it
LINES_A_SECOND = 2_000  # reading them takes a quarter of a hundredth of a processor (tests.bench.latencies)
LEAST = 0.0001
FEW = 1_000  # transactions of a client that one counted
EXAMINED_AT_MOST = 20  # earlier runs of the target
# Of a target that was never loaded, guessed high: a rate that is too low costs samples, one too high processor time.
UNKNOWN_STATEMENTS = 50_000.0  # a second
UNKNOWN_RECONNECTING_TPS = 10_000.0
LINES_OF_A_GUESS = 5_000  # reading these takes under a hundredth of a processor, were the guess ever right
BEYOND_PING = 8  # how much faster than the panel's own first login and SELECT 1 a load may log in and ask
ALIKE = ("builtin", "scripts", "connect")


def options_of(run: Run) -> dict[str, Any]:
    """The run's options with the share to log, where it logs and none was chosen."""
    options: dict[str, Any] = run.options
    if options.get("percentiles") and not options.get("sampling_rate"):
        known = known_tps(run)
        share = rate(options, guessed_tps(run), LINES_OF_A_GUESS) if known is None else rate(options, known)
        return options | ({"sampling_rate": share} if share < 1 else {})
    return options


def rate(options: dict[str, Any], tps: float, lines_a_second: int = LINES_A_SECOND) -> float:
    """The share of the transactions to log where so many a second are expected; pure."""
    per_client, duration_s = options.get("transactions"), options.get("duration")
    expected = per_client * (options.get("clients") or 1) if per_client else tps * (duration_s or 1)
    share = min(1.0, WANTED / expected, lines_a_second / tps)
    few = FIRM_COUNT / expected if per_client else 0.0  # so many are soon read, however fast they come
    return max(LEAST, round(min(1.0, max(share, few)), 4))


def known_tps(run: Run) -> float | None:
    """What its warm-up reached, or the last comparable run of that target; a rate is never passed. None without both.

    More clients are taken to do more, up to what is hardly passed by any.
    """
    if warm := run.conditions.get("warm_up", {}).get("tps"):
        return _within_rate(run, warm)
    if (last := _last_reached(run)) is None:
        return None
    reached, more_clients = last
    return _within_rate(run, min(reached * max(1.0, more_clients), max(reached, guessed_tps(run))))


def guessed_tps(run: Run) -> float:
    """What it will hardly pass: every client waits for each of its statements, and there is an end to any server."""
    files = engine(run.engine).log_files(run.options)
    statements, reconnects = files.statements if files else 1.0, bool(run.options.get("connect"))
    most = min(UNKNOWN_STATEMENTS / statements, UNKNOWN_RECONNECTING_TPS if reconnects else UNKNOWN_STATEMENTS)
    ping = run.conditions.get("ping")
    if ping is None:
        return _within_rate(run, most)
    least_ms = (statements * ping["min_ms"] + (ping["connect_ms"] if reconnects else 0.0)) / BEYOND_PING
    clients = run.options.get("clients") or 1
    return _within_rate(run, min(most, clients * 1000 / max(least_ms, 0.001)))


def _within_rate(run: Run, tps: float) -> float:
    asked = run.options.get("rate")
    return max(1.0, min(tps, asked) if asked else tps)


def _last_reached(run: Run) -> tuple[float, float] | None:
    """Its rate, and how many times its clients this run has."""
    same = Run.objects.filter(
        engine=run.engine,
        cluster=run.cluster_id,
        database=run.database,
        pool=run.pool_id,
        external=run.external_id,
        status__in=FINAL,
    )
    for options, summary in same.order_by("-number").values_list("options", "summary")[:EXAMINED_AT_MOST]:
        alike = all(options.get(name) == run.options.get(name) for name in ALIKE)
        if (options.get("transactions") or FEW) < FEW:
            continue  # its beginning and end were most of its time
        if alike and not options.get("rate") and (tps := summary.get("tps")):
            return float(tps), (run.options.get("clients") or 1) / (options.get("clients") or 1)
    return None
