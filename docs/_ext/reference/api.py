"""The endpoints of the API by tag, with the fields of their bodies, from the OpenAPI description."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from reference.tables import code, plain, table

Described = dict[str, Any]  # a part of an OpenAPI description
METHODS = ("get", "post", "put", "patch", "delete")


def endpoints() -> str:
    """Return a section for each tag: method, address, what it does, and the fields of its body."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]  # as drf-spectacular has it
    description = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # as above
    rows: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for path, operations in description["paths"].items():
        for method in METHODS:
            if operation := operations.get(method):
                fields = " ".join(_fields(operation, description["components"]["schemas"]))
                tag = operation["tags"][0]
                rows[tag].append(
                    (code(f"{method.upper()} {_short(path)}"), plain(operation.get("summary", "")), fields)
                )
    return "\n".join(_section(tag, rows[tag]) for tag in sorted(rows))


def _short(path: str) -> str:
    return str(path).removeprefix("/api/v1/")


def _section(tag: str, rows: list[tuple[str, str, str]]) -> str:
    heading = tag.replace("-", " ").replace("_", " ")
    return f"### {heading[:1].upper() + heading[1:]}\n\n" + table(
        ("Request", "What it does", "Fields of the body"), rows
    )


def _fields(operation: Described, schemas: Described) -> Iterator[str]:
    """Yield the fields of a body; one that must be there has a star."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = _resolved(content.get("application/json", {}).get("schema", {}), schemas)
    needed = set(schema.get("required", []))
    for name, one in schema.get("properties", {}).items():
        if not one.get("readOnly"):
            yield code(name) + ("\\*" if name in needed else "")


def _resolved(schema: Described, schemas: Described) -> Described:
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return schema
