"""sysbench as an engine: its OLTP scripts, and tpcc where the folder of its scripts is given."""

from benchmarks.engines.sysbench.binary import find, host_files
from benchmarks.engines.sysbench.command import build_command, preview
from benchmarks.engines.sysbench.options import alone, dropping, fields_for, file_needed, loading_all, validate
from benchmarks.engines.sysbench.output import WORDS, hear, options_said, read_output
from benchmarks.engines.sysbench.tables import tables_of

__all__ = [
    "WORDS",
    "alone",
    "build_command",
    "dropping",
    "fields_for",
    "file_needed",
    "find",
    "hear",
    "host_files",
    "loading_all",
    "options_said",
    "preview",
    "read_output",
    "tables_of",
    "validate",
]
