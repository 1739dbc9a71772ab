"""Counters of the panel's own load programs, and the lines in which they print them.

Each second prints `{"interval": {…}}`, with `late_s` where the interval ended that long before the line. The first
error of each kind is a line of plain text, and the end is `{"summary": {…}}`. Each answered request is a line of the
log, `END_US LATENCY_US`, so that its percentiles are computed as for every other engine.
"""

import json
import resource
import sys
import time
from collections import Counter
from contextlib import suppress
from math import sqrt
from pathlib import Path
from typing import IO

TEXT_CHARACTERS = 300
INTERVAL_S = 1.0


Figures = dict[str, float | dict[str, int] | None]


class LoadCounters:
    """Counts requests; failed ones have a kind and no latency.

    Times are those of `time.perf_counter`; `began` is the beginning of the load, by default now.
    """

    def __init__(self, log: Path | None = None, began: float | None = None) -> None:
        now = time.perf_counter()
        self.began = now if began is None else began
        self.whole, self.interval = Counts(self.began), Counts(self.began)
        self.errors: Counter[str] = Counter()
        self._epoch_us = time.time_ns() // 1000 - round(now * 1_000_000)
        self._log: IO[str] | None = log.open("w", encoding="ascii") if log else None

    def answered(self, ended: float, latency_s: float, size_bytes: int, connecting_s: float | None = None) -> None:
        """Count a request that succeeded."""
        self.interval.add(latency_s, size_bytes, connecting_s)
        if self._log:
            self._log.write(f"{self._epoch_us + round(ended * 1_000_000)} {round(latency_s * 1_000_000)}\n")

    def failed(self, kind: str, words: str = "") -> None:
        """Count a request that failed, and print the message of the first of each kind."""
        if kind not in self.errors:
            message = f": {words.strip()[:TEXT_CHARACTERS]}" if words.strip() else ""
            _print(f"error: {kind}{message}".replace("\n", " "))
        self.errors[kind] += 1
        self.interval.failed += 1

    def end_interval(self, at: float | None = None) -> None:
        """Print the interval that ended then, by default now."""
        printed_at = time.perf_counter()
        now = printed_at if at is None else at
        interval, self.interval = self.interval, Counts(now)
        interval_s = now - interval.began
        if self._log:
            self._log.flush()
        late = {} if at is None else {"late_s": round(max(0.0, printed_at - at), 3)}
        _print_json("interval", {"t": round(now - self.began, 3), **late, **interval.figures(interval_s)})
        self.whole.add_counts(interval)

    def end(self, clients: int, ended: float | None = None) -> None:
        """Print the summary of a load that ended then, by default now."""
        elapsed_s = max(1e-6, (time.perf_counter() if ended is None else ended) - self.began)
        self.whole.add_counts(self.interval)
        if self._log:
            self._log.close()
        used = resource.getrusage(resource.RUSAGE_SELF)
        figures: Figures = {
            **self.whole.figures(elapsed_s),
            "transactions": self.whole.count,
            "clients": clients,
            "elapsed_s": round(elapsed_s, 3),
            "bytes": self.whole.size_bytes,
            "errors": dict(self.errors.most_common()),
            "effective_clients": round(self.whole.sum_s / elapsed_s, 3),
            "generator_cpu_percent": round(100 * (used.ru_utime + used.ru_stime) / elapsed_s, 1),
        }
        if self.whole.connections:
            figures["average_connection_ms"] = round(1000 * self.whole.connecting_s / self.whole.connections, 3)
        _print_json("summary", figures)


class Counts:
    """Requests of a span of time; sums in seconds."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.count = self.failed = self.size_bytes = self.connections = 0
        self.sum_s = self.sum_of_squares = self.connecting_s = self.longest_s = 0.0
        self.shortest_s: float | None = None

    @property
    def is_empty(self) -> bool:
        """True if no request ended."""
        return not self.count and not self.failed

    def add(self, latency_s: float, size_bytes: int, connecting_s: float | None) -> None:
        """Count a request: its latency, its bytes, and the seconds that connecting took (None: it was connected)."""
        self.count += 1
        self.size_bytes += size_bytes
        self.sum_s += latency_s
        self.sum_of_squares += latency_s * latency_s
        self.longest_s = max(self.longest_s, latency_s)
        self.shortest_s = latency_s if self.shortest_s is None else min(self.shortest_s, latency_s)
        if connecting_s is not None:
            self.connections += 1
            self.connecting_s += connecting_s

    def add_counts(self, other: "Counts") -> None:
        """Add the counts of another span."""
        for name in ("count", "failed", "size_bytes", "connections", "sum_s", "sum_of_squares", "connecting_s"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest_s = max(self.longest_s, other.longest_s)
        known = [one for one in (self.shortest_s, other.shortest_s) if one is not None]
        self.shortest_s = min(known, default=None)

    def figures(self, lasted_s: float) -> Figures:
        """Return the figures under the names of samples and summaries; None where nothing was answered."""
        figures: Figures = {"tps": round(self.count / lasted_s, 3) if lasted_s > 0 else None}
        figures |= dict.fromkeys(("latency_avg_ms", "latency_stddev_ms", "latency_min_ms", "latency_max_ms"))
        if self.count:
            mean_s = self.sum_s / self.count
            spread_s = sqrt(max(0.0, self.sum_of_squares / self.count - mean_s * mean_s))
            seconds = (mean_s, spread_s, self.shortest_s or 0.0, self.longest_s)
            figures |= zip(list(figures)[1:], (round(1000 * value, 3) for value in seconds), strict=True)
        megabytes_a_second = round(self.size_bytes / lasted_s / 1e6, 3) if lasted_s > 0 else None
        return {**figures, "failed": self.failed, "megabytes_per_second": megabytes_a_second}


def _print_json(name: str, figures: Figures) -> None:
    _print(json.dumps({name: figures}, allow_nan=False))


def _print(text: str) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
