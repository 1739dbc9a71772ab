"""Follows the transaction logs of a load while it writes them."""

import logging
import time
from collections import defaultdict
from math import sqrt

from django.utils.translation import gettext as _

from benchmarks.analysis.latency.intervals import Figures, Intervals
from benchmarks.engines.log_files import LogFiles, LogReader
from benchmarks.processes.logs import LogSource

log = logging.getLogger(__name__)


class Follower:
    """The logs of one load: `intervals` holds what was read, `broken` says why reading failed."""

    def __init__(self, files: LogFiles, source: LogSource) -> None:
        self.files = files
        self.intervals = Intervals()
        self.broken = source.why_not
        self._source = source
        self._readers: dict[str, LogReader] = defaultdict(files.reader)

    def read(self) -> None:
        """Read what was appended since the last call; a load whose log can't be read goes on."""
        try:
            for name, chunk in self._source.appended():
                self.intervals.add(self._readers[name].feed(chunk), scheduled=self.files.scheduled)
        except OSError as error:
            if not self.broken:
                self.broken = _("the log of transactions can't be read: %(error)s") % {"error": error}
                log.warning("%s", self.broken)

    def end_interval(self, at: float, transactions: float = 0.0) -> Figures:
        """Return the figures of the progress interval of so many transactions that ended at this monotonic time.

        Those known so far; none while its log is not complete.
        """
        self._source.catch_up()
        self.read()
        ended = time.time() - (time.monotonic() - at) + self._source.clock_ahead_s
        return self.intervals.end(round(ended * 1_000_000), _logged_of(transactions, self.files.sampling_rate))

    def close(self) -> None:
        """Read the rest and close the files."""
        self._source.finish()
        self.read()
        self._source.close()


def _logged_of(transactions: float, share: float) -> float:
    """Return the least number of transactions to expect in a log that has this share of them (3 sigma)."""
    expected = transactions * share
    return max(0.0, expected - 3 * sqrt(expected * (1 - share)))
