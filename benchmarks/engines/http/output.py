"""Reads the output of the HTTP load; pure."""

from django.utils.translation import gettext_lazy as _

from benchmarks.engines import load_output
from benchmarks.engines.base import Output, ProgramTerms
from benchmarks.engines.sentences import REQUESTS, WORKERS

TERMS = ProgramTerms(
    "HTTP load",
    units=REQUESTS,
    workers=WORKERS,
    busier=_("run it from several generators"),
    full_service=_(
        "the products service took %(taken)s %% of the one core that its process can use: it may be the limit, not "
        "the server; compare its kinds of connection with each other, or use several generators, each of "
        "which has a service of its own"
    ),
    stream="stdout",
    starts_within_s=20.0,
)


def read_output(stdout: str, stderr: str = "") -> Output:
    """Parse the output of one execution; never raise."""
    return load_output.read_output(TERMS, stdout, stderr)
