"""The engine of sysbench."""

from benchmarks.engines.base import Engine
from benchmarks.engines.prepared_statements import PreparingOption
from benchmarks.engines.sysbench import binary, command, options, output, tables
from benchmarks.engines.sysbench.typed_options import SysbenchOptions


class Sysbench(Engine[SysbenchOptions]):
    """Its OLTP scripts, and tpcc where the folder of its scripts is given."""

    name = "sysbench"
    terms = output.TERMS
    imports_output = True
    prepared_statements = PreparingOption("db_ps_mode", "auto", instead="disable")
    missing_file = binary.MISSING_FILE

    fields_for = staticmethod(options.fields_for)
    validate = staticmethod(options.validate)
    find = staticmethod(binary.find)
    build_command = staticmethod(command.build_command)
    preview = staticmethod(command.preview)
    parse_line = staticmethod(output.parse_line)
    read_output = staticmethod(output.read_output)
    tables_of = staticmethod(tables.tables_of)
    unshardable = staticmethod(options.unshardable)
    file_needed = staticmethod(options.file_needed)
    host_files = staticmethod(binary.host_files)
    drop_options = staticmethod(options.drop_options)
    full_dataset_options = staticmethod(options.full_dataset_options)
    options_from_summary = staticmethod(output.options_from_summary)


ENGINE = Sysbench()
