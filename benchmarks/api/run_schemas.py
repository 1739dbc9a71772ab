"""Describes a run's options in OpenAPI: one type of request per engine, made from the engine's own options."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from benchmarks.engines import DEFAULT_ENGINE, ENGINES, option_schemas
from benchmarks.engines.option_schemas import JsonSchema
from benchmarks.errors import InvalidOptions
from benchmarks.experiments.advice.workload import RECORDED, TABLES
from benchmarks.models import Purpose
from benchmarks.runs.submission import options

REQUEST = "AskedRun"
WORKLOAD = "AdviceWorkload"
SUFFIXES = {Purpose.LOAD: "Options", Purpose.PREPARE: "PreparationOptions"}


def describe_options(result: JsonSchema, **_kwargs: object) -> JsonSchema:
    """Make the request for a run a union discriminated by `engine`; a hook of drf-spectacular.

    Options of experiments and of advice, which are for runs of one of the engines, get the same types.
    """
    schemas = result["components"]["schemas"]
    request_schema = schemas[REQUEST]
    schemas |= {_name(engine, purpose): _options(engine, purpose) for engine, purpose in _typed()}
    schemas |= {_request_name(engine): _request(engine, request_schema) for engine in ENGINES}
    schemas[REQUEST] = {
        "description": request_schema["description"],
        "oneOf": [_ref(_request_name(engine)) for engine in ENGINES],
        "discriminator": {
            "propertyName": "engine",
            "mapping": {engine: _ref(_request_name(engine))["$ref"] for engine in ENGINES},
        },
    }
    schemas.pop("EngineEnum", None)
    _retype(schemas["AskedExperiment"], "options", [one for one in _typed() if one[1] == Purpose.LOAD])
    _retype(schemas["AskedExperiment"], "dataset", [one for one in _typed() if one[1] == Purpose.PREPARE])
    schemas[WORKLOAD] = _workload(schemas[_name(DEFAULT_ENGINE, Purpose.LOAD)])
    kept = schemas["AskedAdvice"]["properties"]["workload"]["description"]
    schemas["AskedAdvice"]["properties"]["workload"] = {"description": kept, "allOf": [_ref(WORKLOAD)]}
    return result


def _typed() -> Iterator[tuple[str, Purpose]]:
    """Yield the engines with each purpose for which they have options."""
    return ((name, purpose) for name, engine in ENGINES.items() for purpose in SUFFIXES if engine.fields_for(purpose))


def _options(engine: str, purpose: Purpose) -> JsonSchema:
    fields = options.fields_for(engine, purpose)
    schema = option_schemas.of_options(fields, ENGINES[engine].kind_schemas, _required(engine, purpose))
    of_load, of_dataset = _("Options of %(engine)s for a load"), _("Options of %(engine)s for preparing a dataset")
    text = of_load if purpose == Purpose.LOAD else of_dataset
    return {"description": text % {"engine": engine}, **schema}


def _workload(load: JsonSchema) -> JsonSchema:
    """Return the type of an advice's workload: options of a load, and what `advice.workload.read` takes beside them."""
    more = {"run": {"type": "string", "format": "uuid"}, "tables": {"type": "string", "enum": list(TABLES)}}
    more[RECORDED] = {"type": "boolean"}
    return load | {"description": _("The load of an advice"), "properties": load["properties"] | more}


def _required(engine: str, purpose: Purpose) -> frozenset[str]:
    """Return the options without which the engine refuses a run."""
    try:
        ENGINES[engine].validate({}, purpose=purpose)
    except InvalidOptions as error:
        return frozenset(error.errors) & {field.name for field in ENGINES[engine].fields_for(purpose)}
    return frozenset()


def _request(engine: str, asked: JsonSchema) -> JsonSchema:
    """Return the request for a run of this engine, which it names: tools need that of a discriminator."""
    kinds = [one for one in _typed() if one[0] == engine]
    required = {*asked["required"], "engine", *(["options"] if _required(engine, Purpose.LOAD) else [])}
    request = asked | {
        "properties": asked["properties"] | {"engine": {"type": "string", "enum": [engine]}},
        "required": sorted(required),
    }
    request["description"] = _("A request for a run of %(engine)s") % {"engine": engine}
    _retype(request, "options", kinds)
    if len(kinds) == 1:
        request["properties"]["purpose"] = {"type": "string", "enum": [kinds[0][1].value], "default": kinds[0][1].value}
    return request


def _retype(schema: JsonSchema, field: str, kinds: list[tuple[str, Purpose]]) -> None:
    """Give a field the type of these options, and keep its description."""
    types = [_ref(_name(*one)) for one in kinds]
    kept = {key: value for key, value in schema["properties"][field].items() if key == "description"}
    schema["properties"][field] = kept | ({"allOf": types} if len(types) == 1 else {"anyOf": types})


def _name(engine: str, purpose: Purpose) -> str:
    return engine.capitalize() + SUFFIXES[purpose]


def _request_name(engine: str) -> str:
    return f"{engine.capitalize()}RunRequest"


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
