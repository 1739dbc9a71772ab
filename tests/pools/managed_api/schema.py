"""JSON schemas of the answers under /v2/, written from the provider's public list of fields."""

from collections.abc import Iterator
from typing import Any

import jsonschema

TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "properties": required | optional, "required": sorted(required)}


CONNECTION = _object(
    {
        "protocol": {"const": "postgresql"},
        "uri": {"type": "string", "pattern": "^postgres(ql)?://"},
        "database": TEXT,
        "host": TEXT,
        "port": NUMBER,
        "user": TEXT,
        "password": TEXT,
        "ssl": FLAG,
    }
)
POOL = _object(
    {
        "name": {"type": "string", "pattern": "^[^/]{1,63}$"},
        "user": TEXT,
        "db": TEXT,
        "mode": {"enum": ["session", "transaction", "statement"]},
        "size": {"type": "integer", "minimum": 1},
        "connection": CONNECTION,
        "private_connection": CONNECTION,
    },
    standby_connection=CONNECTION,
    standby_private_connection=CONNECTION,
)
USER = _object({"name": TEXT, "role": {"enum": ["primary", "normal"]}, "password": TEXT})
DB = _object({"name": TEXT})
AUTOSCALE = _object({"enabled": {"const": False}})
CLUSTER = _object(
    {
        "id": {"type": "string", "format": "uuid"},
        "name": TEXT,
        "engine": {"const": "pg"},
        "version": TEXT,
        "semantic_version": TEXT,
        "num_nodes": {"type": "integer", "minimum": 1},
        "size": TEXT,
        "region": TEXT,
        "status": {"enum": ["creating", "online", "resizing", "migrating", "forking"]},
        "created_at": TIME,
        "connection": CONNECTION,
        "private_connection": CONNECTION,
        "users": _list(USER),
        "db_names": _list(TEXT),
        "maintenance_window": _object({"day": TEXT, "hour": TEXT, "pending": FLAG, "description": _list(TEXT)}),
        "tags": _list(TEXT),
        "private_network_uuid": TEXT,
        "project_id": TEXT,
        "storage_size_mib": NUMBER,
        "rules": {"type": "array", "maxItems": 0},
        "metrics_endpoints": _list(_object({"host": TEXT, "port": NUMBER})),
        "storage_autoscale": AUTOSCALE,
    },
    standby_connection=CONNECTION,
    standby_private_connection=CONNECTION,
)
PAGE = {"links": {"type": "object"}, "meta": _object({"total": NUMBER})}
ERROR = _object({"id": {"type": "string", "pattern": "^[a-z_]+$"}, "message": TEXT, "request_id": TEXT})

ANSWERS = {
    "databases": _object({"databases": _list(CLUSTER), **PAGE}),
    "database": _object({"database": CLUSTER}),
    "users": _object({"users": _list(USER), **PAGE}),
    "user": _object({"user": USER}),
    "dbs": _object({"dbs": _list(DB), **PAGE}),
    "db": _object({"db": DB}),
    "pools": _object({"pools": _list(POOL), **PAGE}),
    "pool": _object({"pool": POOL}),
    "ca": _object({"ca": _object({"certificate": TEXT})}),
    "config": _object({"config": {"type": "object"}}),
    "options": _object({"options": _object({"pg": _object({"regions": _list(TEXT), "versions": _list(TEXT)})})}),
    "events": _object({"events": {"type": "array", "maxItems": 0}}),
    "replicas": _object({"replicas": {"type": "array", "maxItems": 0}}),
    "backups": _object({"backups": {"type": "array", "maxItems": 0}}),
    "rules": _object({"rules": {"type": "array", "maxItems": 0}}),
    "sinks": _object({"sinks": {"type": "array", "maxItems": 0}}),
    "autoscale": _object({"autoscale": _object({"storage": AUTOSCALE}), "storage": AUTOSCALE}),
    "credentials": _object({"credentials": _object({"basic_auth_username": TEXT, "basic_auth_password": TEXT})}),
    "account": _object({"account": _object({"uuid": TEXT, "email": TEXT, "status": TEXT})}),
}


def check(name: str, answer: Any) -> Any:
    """Return the answer after it was held against the schema of that name.

    Nothing in it is an empty object: Terraform takes one for a block that its configuration lacks, and plans to
    remove it after each apply (`settings` of a user, in resource_database_user.go).
    """
    assert list(_empty(answer, "")) == []
    jsonschema.validate(answer, ERROR if name == "error" else ANSWERS[name])
    return answer


NO_BLOCKS = ("links.pages", "config.pgbouncer")  # of the client's library and of an answer that no resource reads


def _empty(value: Any, path: str) -> Iterator[str]:
    """The paths of the empty objects in an answer."""
    if value == {} and path not in NO_BLOCKS:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in parts:
        yield from _empty(one, f"{path}.{name}".lstrip("."))
