"""Share of a load's transactions to log: enough for a firm p99, and few enough to read cheaply."""

from copy import copy

from benchmarks.analysis.latency.histogram import FIRM_COUNT
from benchmarks.engines import engine
from benchmarks.models import FINAL, Run
from benchmarks.models.options import RunOptions

WANTED = 200_000  # logged transactions in all; a p99 of theirs has 2,000 above it
LINES_A_SECOND = 2_000  # reading them takes 0.25 % of a processor (tests.bench.latencies)
LEAST = 0.0001
FEW = 1_000  # transactions of a client; shorter runs are no measure
EXAMINED_AT_MOST = 20  # earlier runs of the target
# The guess for a target that was never loaded is high: a low one costs processor time, a high one costs samples.
UNKNOWN_STATEMENTS = 50_000.0  # a second
UNKNOWN_RECONNECTING_TPS = 10_000.0
LINES_OF_A_GUESS = 5_000  # reading these takes under 1 % of a processor, should the guess be right
BEYOND_PING = 8  # factor by which a load's logins and statements may be faster than the panel's own
ALIKE = ("builtin", "scripts", "connect")


def options_of(run: Run, stage: RunOptions | None = None) -> RunOptions:
    """Return the options of a run or of one stage of its load, adding the share to log where none was chosen.

    Each stage has a share of its own: one with a low rate has few transactions, and would hardly be logged otherwise.
    """
    if stage is not None:
        run = copy(run)
        run.options = stage
    options = run.options
    if options.get("percentiles") and not options.get("sampling_rate"):
        known = known_tps(run)
        share = rate(options, guessed_tps(run), LINES_OF_A_GUESS) if known is None else rate(options, known)
        return {**options, "sampling_rate": share} if share < 1 else options
    return options


def rate(options: RunOptions, tps: float, lines_a_second: int = LINES_A_SECOND) -> float:
    """Return the share of transactions to log at this expected throughput; pure."""
    per_client, duration_s = options.get("transactions"), options.get("duration")
    expected = per_client * (options.get("clients") or 1) if per_client else tps * (duration_s or 1)
    share = min(1.0, WANTED / expected, lines_a_second / tps)
    few = FIRM_COUNT / expected if per_client else 0.0  # so few are read quickly at any throughput
    return max(LEAST, round(min(1.0, max(share, few)), 4))


def known_tps(run: Run) -> float | None:
    """Return the throughput of the run's warm-up or of the last comparable run on its target; None without either.

    Never above the run's rate. More clients are expected to reach more, up to `guessed_tps`.
    """
    if warm := run.conditions.get("warm_up", {}).get("tps"):
        return _within_rate(run, warm)
    if (last := _last_reached(run)) is None:
        return None
    reached, more_clients = last
    return _within_rate(run, min(reached * max(1.0, more_clients), max(reached, guessed_tps(run))))


def guessed_tps(run: Run) -> float:
    """Return an upper bound of the throughput, from round trips: a client waits for each of its statements."""
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
    target_rate = run.options.get("rate")
    return max(1.0, min(tps, target_rate) if target_rate else tps)


def _last_reached(run: Run) -> tuple[float, float] | None:
    """Return the last comparable run's tps, and by what factor this run has more clients."""
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
            continue  # start and end took most of its time
        is_constant = not options.get("rate") and not options.get("stages")
        if alike and is_constant and (tps := summary.get("tps")):
            return float(tps), (run.options.get("clients") or 1) / (options.get("clients") or 1)
    return None
