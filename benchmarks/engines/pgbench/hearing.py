"""What a line of a running pgbench means to whoever follows it; pure."""

from typing import Any

from benchmarks.engines.base import Heard, Progress
from benchmarks.engines.pgbench import initialize
from benchmarks.engines.pgbench.lines import InitProgress, read_line


def hear(text: str, options: dict[str, Any]) -> Heard:
    """The sample or the percentage in one line of stderr, and whether it is a message to people; never raises."""
    said = read_line(text)
    if isinstance(said, Progress):
        return Heard(sample=said, worth_telling=False)
    steps = options.get("initialize_steps")
    percent = initialize.percent(said, steps) if steps else None
    return Heard(percent=percent, worth_telling=not isinstance(said, InitProgress))
