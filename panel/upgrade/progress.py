"""Progress of an upgrade on the terminal: a line for each step, with the seconds since the start."""

import sys
import time
from typing import TextIO


class Progress:
    """Prints steps as they begin."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.started, self.stream = time.monotonic(), stream or sys.stdout

    def report(self, text: str) -> None:
        """Print one step."""
        print(f"[{time.monotonic() - self.started:5.1f} s] {text}", file=self.stream, flush=True)
