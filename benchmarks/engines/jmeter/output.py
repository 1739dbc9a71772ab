"""What the follower of a JMeter says, read; pure."""

from django.utils.translation import gettext_lazy as _

from benchmarks.engines import load_output
from benchmarks.engines.base import Output, ProgramTerms

TERMS = ProgramTerms(
    "JMeter",
    unit=_("request"),
    units=_("requests"),
    workers=_("threads"),
    interval=_("interval line"),
    interval_lines=_("interval lines"),
    busier=_("give it more memory or a host of its own"),
    stream="stdout",
    starts_within_s=120.0,
    slow_start_s=2.0,
)


def read_output(stdout: str, stderr: str = "") -> Output:
    """All that one execution said; never raises."""
    return load_output.read_output(TERMS, stdout, stderr)
