"""Reads the output of the HTTP load; pure."""

from django.utils.translation import gettext_lazy as _

from benchmarks.engines import load_output
from benchmarks.engines.base import Output, ProgramTerms

TERMS = ProgramTerms(
    _("the HTTP load"),
    unit=_("request"),
    units=_("requests"),
    workers=_("workers"),
    interval=_("interval line"),
    interval_lines=_("interval lines"),
    busier=_("run it from several generators"),
    service=_("the products service"),
    stream="stdout",
    starts_within_s=20.0,
)


def read_output(stdout: str, stderr: str = "") -> Output:
    """Parse the output of one execution; never raise."""
    return load_output.read_output(TERMS, stdout, stderr)
