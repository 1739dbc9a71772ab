"""pgbench as an engine: its options, its command line, and the reading of all that it prints."""

from benchmarks.engines.pgbench.binary import find
from benchmarks.engines.pgbench.command import build_command, preview
from benchmarks.engines.pgbench.options import dropping, fields_for, lacking, server_refuses, validate
from benchmarks.engines.pgbench.output import WORDS, hear, options_said, read_output
from benchmarks.engines.pgbench.tables import tables_of
from benchmarks.engines.pgbench.transaction_log import log_files

__all__ = [
    "WORDS",
    "build_command",
    "dropping",
    "fields_for",
    "find",
    "hear",
    "lacking",
    "log_files",
    "options_said",
    "preview",
    "read_output",
    "server_refuses",
    "tables_of",
    "validate",
]
