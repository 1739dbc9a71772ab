"""JMeter as an engine: a plan of the operator's, against PostgreSQL or allow-listed hosts."""

from benchmarks.engines.jmeter.binary import find
from benchmarks.engines.jmeter.command import build_command, preview
from benchmarks.engines.jmeter.names import around
from benchmarks.engines.jmeter.options import fields_for, file_needed, host_files, tables_of, validate
from benchmarks.engines.jmeter.output import WORDS, read_output
from benchmarks.engines.load_output import hear, log_files

__all__ = [
    "WORDS",
    "around",
    "build_command",
    "fields_for",
    "file_needed",
    "find",
    "hear",
    "host_files",
    "log_files",
    "preview",
    "read_output",
    "tables_of",
    "validate",
]
