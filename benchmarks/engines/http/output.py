"""What the HTTP load says, read; pure."""

from benchmarks.engines import load_output
from benchmarks.engines.base import Output, ProgramTerms

TERMS = ProgramTerms(
    "the HTTP load",
    unit="request",
    worker="worker",
    interval="interval line",
    busier="run it from several generators",
    service="the products service",
    stream="stdout",
    starts_within_s=20.0,
)


def read_output(stdout: str, stderr: str = "") -> Output:
    """All that one execution said; never raises."""
    return load_output.read_output(TERMS, stdout, stderr)
