"""What the HTTP load says, read; pure."""

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
    """All that one execution said; never raises."""
    return load_output.read_output(TERMS, stdout, stderr)
