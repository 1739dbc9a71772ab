"""Progress on the terminal: one line per step, with the seconds since the start."""

import time


class Steps:
    """Prints steps; `since` is the Unix time at which script/up began."""

    def __init__(self, since: float | None = None) -> None:
        self.since = since or time.time()
        self.current = ""

    @property
    def elapsed_s(self) -> float:
        return time.time() - self.since

    def report(self, text: str) -> None:
        """Print one step in the format of script/lib.sh."""
        self.current = text
        print(f"[{self.elapsed_s:4.0f} s] {text}", flush=True)
