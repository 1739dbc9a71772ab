"""Reads the transaction log of pgbench (-l): bytes in, latencies out; pure.

A line is `client transaction time_us script epoch_s epoch_us`, under -R ` lag_us`, under --max-tries ` retries`. The
time is a word where the transaction was skipped or failed (doLog in pgbench.c, 9.6 to 19). Some transactions of custom
scripts are logged with a time of 0, which pgbench counts in its own average too (seen with 15.18 and 18.4).
"""

import re

from benchmarks.engines.log_files import LogFiles, LoggedTransaction
from benchmarks.engines.pgbench import scripts
from benchmarks.engines.pgbench.typed_options import PgbenchOptions

PATTERN = "pgbench_log.*"  # .PID, and .PID.THREAD of all threads but the first
LONGEST_LINE_BYTES = 1_024
_START = rb"^[0-9]{1,10} [0-9]{1,19} ([0-9]{1,15}) [0-9]{1,4} ([0-9]{9,11}) ([0-9]{1,6})"
_COUNT = rb" [0-9]{1,10}"
_LAG = rb" ([0-9]{1,15})"


def log_files(options: PgbenchOptions) -> LogFiles | None:
    """Return the log that a run with these options writes; None where it writes none."""
    if not options.get("percentiles"):
        return None
    scheduled, retries = bool(options.get("rate")), options.get("max_tries") not in (None, 1)
    share, statements = options.get("sampling_rate") or 1.0, scripts.statements(options)
    prefix = options.get("log_prefix")
    pattern = f"{prefix}.*" if prefix else PATTERN
    return LogFiles(pattern, lambda: TransactionLog(scheduled, retries), scheduled, share, statements)


class TransactionLog:
    """Reads one file in chunks cut anywhere; a line that is truncated or malformed is left out."""

    def __init__(self, scheduled: bool = False, retries: bool = False) -> None:
        self._scheduled = scheduled
        self._line = re.compile(_START + _LAG * scheduled + _COUNT * retries + rb"\n", re.MULTILINE)
        self._rest = b""
        self._dropping = False

    def feed(self, chunk: bytes) -> list[LoggedTransaction]:
        """Return the successful transactions whose lines this chunk completes; never raise."""
        whole, newline, begun = chunk.rpartition(b"\n")
        if not newline:
            self._keep(chunk)
            return []
        text = self._rest + whole + newline
        if self._dropping:
            text = text.partition(b"\n")[2]
        self._rest, self._dropping = b"", False
        self._keep(begun)
        found = self._line.findall(text)
        if self._scheduled:
            return [
                LoggedTransaction(int(second) * 1_000_000 + int(us), int(latency), int(lag))
                for latency, second, us, lag in found
            ]
        return [LoggedTransaction(int(second) * 1_000_000 + int(us), int(latency)) for latency, second, us in found]

    def _keep(self, rest: bytes) -> None:
        """Keep the beginning of a line for its end; drop a line that is longer than any of the log's."""
        self._rest += rest
        if len(self._rest) > LONGEST_LINE_BYTES:
            self._rest, self._dropping = b"", True
