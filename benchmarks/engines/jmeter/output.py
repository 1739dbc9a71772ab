"""Reads the output of JMeter's follower; pure."""

from django.utils.translation import gettext_lazy as _

from benchmarks.engines import load_output
from benchmarks.engines.base import Output, ProgramTerms
from benchmarks.engines.sentences import REQUESTS, THREADS

TERMS = ProgramTerms(
    "JMeter",
    units=REQUESTS,
    workers=THREADS,
    busier=_("give it more memory or a host of its own"),
    stream="stdout",
    starts_within_s=120.0,
    slow_start_s=2.0,
)


def read_output(stdout: str, stderr: str = "") -> Output:
    """Parse the output of one execution; never raise."""
    return load_output.read_output(TERMS, stdout, stderr)
