"""JSON schemas of the kinds of options that only pgbench has."""

from benchmarks.engines.option_schemas import JsonSchema
from benchmarks.engines.pgbench import scripts, stages, variables
from benchmarks.engines.pgbench.option_catalog import INITIALIZE_STEPS
from benchmarks.engines.pgbench.options import IDENTIFIER_BYTES
from benchmarks.models.scripts import NAME_CHARACTERS

_BUILTIN = {"type": "string", "pattern": f"^({'|'.join(scripts.STATEMENTS)})(@[1-9][0-9]{{0,5}})?$"}
_VERSION = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
_NAME = {"type": "string", "maxLength": NAME_CHARACTERS}


def _script(source: str, schema: JsonSchema, **more: JsonSchema) -> JsonSchema:
    weight = {"type": "integer", "minimum": 1, "maximum": scripts.MOST_WEIGHT, "default": 1}
    properties = {source: schema, "weight": weight, **more}
    return {"type": "object", "properties": properties, "required": [source], "additionalProperties": False}


SCRIPTS = [
    _script("text", {"type": "string"}, name=_NAME, version=_VERSION | {"nullable": True}),
    _script("script", {"type": "string", "description": "Id or name of a script of the library"}, version=_VERSION),
    _script("script_version", {"type": "integer", "description": "Id of a version of a script of the library"}),
]
_LIMITS = {name: {"minimum": field.minimum, "maximum": field.maximum} for name, field in stages.FIELDS.items()}
STAGE = {
    "type": "object",
    "properties": {
        "duration_s": {"type": "integer", **_LIMITS["duration_s"]},
        "clients": {"type": "integer", **_LIMITS["clients"]},
        "rate": {"type": "number", "nullable": True, "description": "Transactions a second", **_LIMITS["rate"]},
    },
    "required": [*stages.REQUIRED],
    "additionalProperties": False,
}
KIND_SCHEMAS: dict[str, JsonSchema] = {
    "steps": {"type": "string", "pattern": f"^[{INITIALIZE_STEPS}]+$", "maxLength": len(INITIALIZE_STEPS)},
    "identifier": {"type": "string", "maxLength": IDENTIFIER_BYTES},
    "builtins": {"anyOf": [_BUILTIN, {"type": "array", "items": _BUILTIN, "minItems": 1}]},
    "scripts": {"type": "array", "items": {"oneOf": SCRIPTS}},
    "stages": {"type": "array", "items": STAGE, "maxItems": stages.MOST},
    "variables": {
        "type": "object",
        "maxProperties": variables.MOST,
        "additionalProperties": {
            "anyOf": [{"type": "number"}, {"type": "string", "maxLength": variables.TEXT_CHARACTERS}]
        },
    },
}
