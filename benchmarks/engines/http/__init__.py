"""HTTP as an engine: a closed loop of requests against the products service or an address of the user's own."""

from benchmarks.engines.http.command import build_command, find, preview
from benchmarks.engines.http.options import fields_for, kept_open, validate
from benchmarks.engines.http.output import WORDS, read_output
from benchmarks.engines.http.service import around
from benchmarks.engines.http.tables import tables_of
from benchmarks.engines.load_output import hear, log_files

__all__ = [
    "WORDS",
    "around",
    "build_command",
    "fields_for",
    "find",
    "hear",
    "kept_open",
    "log_files",
    "preview",
    "read_output",
    "tables_of",
    "validate",
]
