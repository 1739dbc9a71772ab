"""JSON schemas of options, as OpenAPI 3.0 has them; pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.engines.base import Field
from benchmarks.engines.option_parsing import TEXT_CHARACTERS

JsonSchema = dict[str, Any]  # schemas nest, and their keys are those of another standard
_TYPES: dict[str, JsonSchema] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "choice": {"type": "string"},
    "text": {"type": "string", "maxLength": TEXT_CHARACTERS},
}


def of_options(
    fields: Iterable[Field], own: Mapping[str, Mapping[str, object]], required: frozenset[str]
) -> JsonSchema:
    """Return the schema of an object with these options and no others; all but the required ones may be null.

    `own` has the schemas of kinds that only one engine has, by kind; an option of a kind without one takes any value.
    """
    known = _TYPES | dict(own)
    properties = {field.name: _of_option(field, known, required) for field in fields}
    schema: JsonSchema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": sorted(required)} if required else {})


def _of_option(field: Field, known: Mapping[str, Mapping[str, object]], required: frozenset[str]) -> JsonSchema:
    schema: JsonSchema = {"title": _title(field), **known.get(field.kind, {}), **_limits(field)}
    if field.kind == "choice":
        schema["enum"] = [*field.choices]
    if field.name not in required:
        schema = _or_null(schema)
    if field.help:
        schema["description"] = str(field.help)
    if field.default is not None:
        schema["default"] = field.default
    return schema


def _or_null(schema: JsonSchema) -> JsonSchema:
    """Allow null, which counts as left out (`option_parsing.is_given`); OpenAPI 3.0 needs it in the enum as well."""
    if "anyOf" in schema:
        first, *others = schema["anyOf"]
        return schema | {"anyOf": [_or_null(first), *others]}
    if "type" not in schema:
        return schema
    return schema | {"nullable": True} | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})


def _title(field: Field) -> str:
    return f"{field.label} ({field.unit})" if field.unit else str(field.label)


def _limits(field: Field) -> JsonSchema:
    limits = {"minimum": field.minimum, "maximum": field.maximum}
    return {name: limit for name, limit in limits.items() if limit is not None}
