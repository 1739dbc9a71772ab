"""The engine of HTTP loads."""

from benchmarks.engines import load_output
from benchmarks.engines.base import Engine
from benchmarks.engines.http import command, options, output, service, tables
from benchmarks.engines.http.typed_options import HttpOptions


class Http(Engine[HttpOptions]):
    """A closed loop of requests against the products service or an address of the user's own."""

    name = "http"
    terms = output.TERMS
    kind_schemas = options.KIND_SCHEMAS

    fields_for = staticmethod(options.fields_for)
    validate = staticmethod(options.validate)
    find = staticmethod(command.find)
    build_command = staticmethod(command.build_command)
    preview = staticmethod(command.preview)
    parse_line = staticmethod(load_output.parse_line)
    read_output = staticmethod(output.read_output)
    tables_of = staticmethod(tables.tables_of)
    log_files = staticmethod(load_output.log_files)
    extra_connections = staticmethod(options.extra_connections)
    run_services = staticmethod(service.run_services)


ENGINE = Http()
