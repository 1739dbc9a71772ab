"""What the follower of a JMeter says, read; pure."""

from benchmarks.engines import load_output
from benchmarks.engines.base import Output, ProgramTerms

TERMS = ProgramTerms(
    "JMeter",
    unit="request",
    worker="thread",
    interval="interval line",
    busier="give it more memory or a host of its own",
    stream="stdout",
    starts_within_s=120.0,
    slow_start_s=2.0,
)


def read_output(stdout: str, stderr: str = "") -> Output:
    """All that one execution said; never raises."""
    return load_output.read_output(TERMS, stdout, stderr)
