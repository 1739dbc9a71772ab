"""The engine of pgbench."""

from benchmarks.engines.base import Engine
from benchmarks.engines.pgbench import (
    binary,
    command,
    option_schemas,
    options,
    output,
    scripts,
    tables,
    transaction_log,
)
from benchmarks.engines.pgbench import stages as load_stages
from benchmarks.engines.pgbench.typed_options import PgbenchOptions
from benchmarks.engines.prepared_statements import PreparingOption


class Pgbench(Engine[PgbenchOptions]):
    """PostgreSQL's own pgbench, of every release."""

    name = "pgbench"
    terms = output.TERMS
    imports_output = True
    kind_schemas = option_schemas.KIND_SCHEMAS
    prepared_statements = PreparingOption("protocol", "prepared", instead="extended")
    takes_library_scripts = True
    host_program = "pgbench"

    fields_for = staticmethod(options.fields_for)
    validate = staticmethod(options.validate)
    fitted = staticmethod(options.fitted)
    most_stages = load_stages.MOST
    stages = staticmethod(load_stages.stages)
    with_rate = staticmethod(load_stages.with_rate)
    unshardable = staticmethod(load_stages.unshardable)
    find = staticmethod(binary.find)
    find_on = staticmethod(binary.find_on)
    build_command = staticmethod(command.build_command)
    preview = staticmethod(command.preview)
    parse_line = staticmethod(output.parse_line)
    read_output = staticmethod(output.read_output)
    tables_of = staticmethod(tables.tables_of)
    log_files = staticmethod(transaction_log.log_files)
    unsupported_options = staticmethod(options.unsupported_options)
    server_refuses = staticmethod(options.server_refuses)
    drop_options = staticmethod(options.drop_options)
    script_labels = staticmethod(scripts.labels)
    scripts_in_words = staticmethod(scripts.in_words)
    options_from_summary = staticmethod(output.options_from_summary)


ENGINE = Pgbench()
