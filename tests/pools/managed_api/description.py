"""An OpenAPI description of /v2/: its operations with the bodies that the provider documents, for made-up requests."""

from typing import Any

from tests.pools.managed_api.schema import ANSWERS, ERROR, FLAG, NUMBER, TEXT

CLUSTER = "/v2/databases/{id}"
MODE = {"enum": ["session", "transaction", "statement"]}
POOL_BODY = {"name": TEXT, "user": TEXT, "db": TEXT, "mode": MODE, "size": NUMBER}
CLUSTER_BODY = {"name": TEXT, "engine": {"enum": ["pg", "mysql"]}, "version": TEXT, "size": TEXT, "region": TEXT}
CLUSTER_BODY |= {"num_nodes": NUMBER, "tags": {"type": "array", "items": TEXT}}
PGBOUNCER = {"server_reset_query_always": FLAG, "min_pool_size": NUMBER, "server_idle_timeout": NUMBER}
CONFIG_BODY = {"config": {"type": "object", "properties": {"pgbouncer": {"type": "object", "properties": PGBOUNCER}}}}
# method, path, status of a success, name of its answer (empty: no body), properties of the request's body
OPERATIONS: list[tuple[str, str, int, str, dict[str, Any]]] = [
    ("get", "/v2/account", 200, "account", {}),
    ("get", "/v2/databases", 200, "databases", {}),
    ("post", "/v2/databases", 201, "database", CLUSTER_BODY),
    ("get", "/v2/databases/options", 200, "options", {}),
    ("get", "/v2/databases/metrics/credentials", 200, "credentials", {}),
    ("get", CLUSTER, 200, "database", {}),
    ("get", f"{CLUSTER}/ca", 200, "ca", {}),
    ("get", f"{CLUSTER}/config", 200, "config", {}),
    ("patch", f"{CLUSTER}/config", 200, "config", CONFIG_BODY),
    ("put", f"{CLUSTER}/resize", 202, "", {"size": TEXT, "num_nodes": NUMBER}),
    ("get", f"{CLUSTER}/users", 200, "users", {}),
    ("post", f"{CLUSTER}/users", 201, "user", {"name": TEXT}),
    ("get", f"{CLUSTER}/users/{{name}}", 200, "user", {}),
    ("put", f"{CLUSTER}/users/{{name}}", 200, "user", {"settings": {"type": "object"}}),
    ("delete", f"{CLUSTER}/users/{{name}}", 204, "", {}),
    ("post", f"{CLUSTER}/users/{{name}}/reset_auth", 200, "user", {}),
    ("get", f"{CLUSTER}/dbs", 200, "dbs", {}),
    ("post", f"{CLUSTER}/dbs", 201, "db", {"name": TEXT}),
    ("get", f"{CLUSTER}/dbs/{{name}}", 200, "db", {}),
    ("delete", f"{CLUSTER}/dbs/{{name}}", 204, "", {}),
    ("get", f"{CLUSTER}/pools", 200, "pools", {}),
    ("post", f"{CLUSTER}/pools", 201, "pool", POOL_BODY),
    ("get", f"{CLUSTER}/pools/{{name}}", 200, "pool", {}),
    ("put", f"{CLUSTER}/pools/{{name}}", 204, "", {name: POOL_BODY[name] for name in ("user", "db", "mode", "size")}),
    ("delete", f"{CLUSTER}/pools/{{name}}", 204, "", {}),
    ("get", f"{CLUSTER}/events", 200, "events", {}),
    ("get", f"{CLUSTER}/replicas", 200, "replicas", {}),
    ("get", f"{CLUSTER}/backups", 200, "backups", {}),
    ("get", f"{CLUSTER}/firewall", 200, "rules", {}),
    ("get", f"{CLUSTER}/autoscale", 200, "autoscale", {}),
    ("put", f"{CLUSTER}/maintenance", 204, "", {"day": TEXT, "hour": TEXT}),
]
BY_KEY = {(method, path): (status, answer) for method, path, status, answer, _body in OPERATIONS}


def as_openapi() -> dict[str, Any]:
    """The description, for schemathesis."""
    paths: dict[str, Any] = {}
    for method, path, status, answer, body in OPERATIONS:
        operation: dict[str, Any] = {"responses": {str(status): _response(answer), "default": _json(ERROR)}}
        names = [name for name in ("id", "name") if f"{{{name}}}" in path]
        operation["parameters"] = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
        if body:
            operation["requestBody"] = _json({"type": "object", "properties": body})
        paths.setdefault(path, {})[method] = operation
    return {"openapi": "3.0.3", "info": {"title": "/v2/", "version": "2"}, "paths": paths}


def _response(answer: str) -> dict[str, Any]:
    return _json(ANSWERS[answer]) if answer else {"description": "nothing"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "an object", "content": {"application/json": {"schema": schema}}}
