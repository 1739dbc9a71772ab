"""The engine of JMeter plans."""

from benchmarks.engines import load_output
from benchmarks.engines.base import Engine
from benchmarks.engines.jmeter import binary, command, names, options, output
from benchmarks.engines.jmeter.typed_options import JMeterOptions


class JMeter(Engine[JMeterOptions]):
    """A plan of the operator's, against PostgreSQL or allow-listed hosts."""

    name = "jmeter"
    terms = output.TERMS
    kind_schemas = options.KIND_SCHEMAS
    missing_file = binary.MISSING_FILE

    fields_for = staticmethod(options.fields_for)
    validate = staticmethod(options.validate)
    find = staticmethod(binary.find)
    build_command = staticmethod(command.build_command)
    preview = staticmethod(command.preview)
    parse_line = staticmethod(load_output.parse_line)
    read_output = staticmethod(output.read_output)
    tables_of = staticmethod(options.tables_of)
    log_files = staticmethod(load_output.log_files)
    file_needed = staticmethod(options.file_needed)
    host_files = staticmethod(options.host_files)
    run_services = staticmethod(names.run_services)


ENGINE = JMeter()
