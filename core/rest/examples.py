"""Examples of requests and answers in OpenAPI: some are written down, all others are made from the schemas.

A serializer has the values of its fields in its attribute `example`. What else is written down of operations is in a
registry of their room, an `Examples` that the setting `API_EXAMPLES` names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.module_loading import import_string
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

JSON = "application/json"
Requests = dict[str, list[tuple["StrOrPromise", object]]]  # summaries and bodies by operation
COMPONENTS = "#/components/schemas/"
PAGES = "Paginated"  # how names of lists begin, which drf-spectacular registers by the serializer of their rows
WRITTEN, READ = "readOnly", "writeOnly"  # the marks of properties that requests and answers don't have
UNNAMED: dict[str, object] = {"string": "string", "integer": 1, "number": 1.0, "boolean": False}
FORMATS = {"uuid": "5f0c1f5e-8a56-4d0e-9a40-6b6f2d3c7e11", "date-time": "2026-03-02T09:30:00Z"}


@dataclass(frozen=True, kw_only=True)
class Examples:
    """The examples and descriptions that a room gives of its operations.

    `fields` has values by the name of a field, for those that many serializers have. `requests` has pairs of summary
    and body by operation, `responses` bodies, and `changes` what an answer has other than usual.
    """

    fields: Mapping[str, object] = field(default_factory=dict)
    requests: Mapping[str, Sequence[tuple["StrOrPromise", object]]] = field(default_factory=dict)
    responses: Mapping[str, object] = field(default_factory=dict)
    changes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def with_those_of(self, other: "Examples") -> "Examples":
        """Return the examples of both; those of the other come first."""
        names = ("fields", "requests", "responses", "changes")
        return Examples(**{name: {**getattr(self, name), **getattr(other, name)} for name in names})


def add_examples(result: dict[str, Any], generator: SchemaGenerator, **_kwargs: object) -> dict[str, Any]:
    """Give each JSON request and each JSON answer an example; a postprocessing hook of drf-spectacular."""
    schemas = result["components"]["schemas"]
    maker = _Maker(schemas, of_serializers(schemas, generator.registry), _registered())
    for operation in _operations(result):
        if content := operation.get("requestBody", {}).get("content", {}).get(JSON):
            content |= _of_request(maker, operation["operationId"], content["schema"])
        for response in operation["responses"].values():
            if content := response.get("content", {}).get(JSON):
                content["example"] = _of_response(maker, operation["operationId"], content["schema"])
    return result


def of_serializers(names: Iterable[str], registry: ComponentRegistry) -> dict[str, Mapping[str, object]]:
    """Return the `example` of the serializer of each of these components that has one."""
    found = {}
    for name in names:
        if not name.startswith(PAGES):
            with suppress(KeyError):  # a component that another hook added has no serializer
                found[name] = getattr(registry[name, ResolvedComponent.SCHEMA].object, "example", {})
    return found


def _operations(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (operation for operations in result["paths"].values() for operation in operations.values())


def _registered() -> Examples:
    found = Examples()
    for path in settings.API_EXAMPLES:
        found = found.with_those_of(import_string(path))
    return found


def _of_request(maker: "_Maker", name: str, schema: Mapping[str, Any]) -> dict[str, object]:
    """Return `{example}`, or `{examples}` with their summaries where several are written down."""
    written = maker.examples.requests.get(name, ())
    if len(written) > 1:
        pairs = enumerate(written, start=1)
        return {"examples": {f"example{at}": {"summary": str(text), "value": body} for at, (text, body) in pairs}}
    return {"example": written[0][1] if written else maker.made(schema, hidden=WRITTEN)}


def _of_response(maker: "_Maker", name: str, schema: Mapping[str, Any]) -> object:
    if name in maker.examples.responses:
        return maker.examples.responses[name]
    example = maker.made(schema, hidden=READ)
    return {**example, **maker.examples.changes.get(name, {})} if isinstance(example, dict) else example


@dataclass(frozen=True)
class _Maker:
    """Makes values of schemas, of those written down where there are any."""

    schemas: Mapping[str, Any]
    of_serializers: Mapping[str, Mapping[str, object]]  # an example for each component and field
    examples: Examples

    def made(self, schema: Mapping[str, Any], *, hidden: str, component: str = "") -> object:
        """Return a value of a schema in this component, without the properties that are marked `hidden`."""
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(COMPONENTS)
            return self.made(self.schemas[name], hidden=hidden, component=name)
        for key in ("allOf", "oneOf", "anyOf"):
            if key in schema:
                return self.made(schema[key][0], hidden=hidden, component=component)
        if schema.get("type") == "object":
            properties = (one for one in schema.get("properties", {}).items() if not one[1].get(hidden))
            return {name: self._of_property(name, one, hidden, component) for name, one in properties}
        if schema.get("type") == "array":
            return [self.made(schema["items"], hidden=hidden)]
        return _simple(schema)

    def _of_property(self, name: str, schema: Mapping[str, Any], hidden: str, component: str) -> object:
        """Return the serializer's value of this field, or that of any field of that name, or make one."""
        for values in (self.of_serializers.get(component, {}), self.examples.fields):
            if name in values:
                return values[name]
        return self.made(schema, hidden=hidden, component=component)


def _simple(schema: Mapping[str, Any]) -> object:
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    return schema.get("minimum", UNNAMED.get(schema.get("type", "")))
