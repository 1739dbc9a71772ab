"""pgbench as an engine: its options, its command line, and the reading of all that it prints."""

from benchmarks.engines.pgbench.binary import Binary, find
from benchmarks.engines.pgbench.command import build_command, preview
from benchmarks.engines.pgbench.lines import LineReader, read_line
from benchmarks.engines.pgbench.options import FIELDS, InvalidOptions, fields_for, validate
from benchmarks.engines.pgbench.output import Output, read_output

__all__ = [
    "FIELDS",
    "Binary",
    "InvalidOptions",
    "LineReader",
    "Output",
    "build_command",
    "fields_for",
    "find",
    "preview",
    "read_line",
    "read_output",
    "validate",
]
