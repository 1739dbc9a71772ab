"""Adds to the OpenAPI schema what no view says: streams of figures, and the answers of acts that are held back."""

from typing import Any

from core.lib.wait_param import WAIT

LIVE = """Stream the current figures as Server-Sent Events: one event `figures` per second.

Its data is `{t, error}` with every figure of `history/`: current counts, rates since the last snapshot, and times in
ms. A figure is null where it is unknown: a rate in the first snapshot, and what a Pgpool-II does not count, such as
waiting clients. With an `error`, the reason why the console gave no answer, there are no figures. The stream has no
history and no event ids."""


HELD = "It was not done: a cluster that it touches requires a second person, and the request waits at this address"
HELD_OPERATIONS = {  # verb of pools.approvals.acts: the operations that do it
    "database.drop": ["clusters_databases_destroy"],
    "role.drop": ["clusters_users_destroy"],
    "pool.kill": ["pools_kill_create", "entries_kill_create"],
    "pool.remove": ["pools_destroy"],
    "pooler.remove": ["poolers_destroy"],
    "cluster.remove": ["clusters_destroy"],
    "pooler.take_over": ["poolers_take_over_create"],
    "pooler.let_go": ["poolers_let_go_create"],
    "pool.create": ["pools_create"],
    "pool.change": ["pools_update", "pools_partial_update"],
    "pooler.roll_back": ["poolers_rollback_create"],
    "cluster.change_approval_rules": ["clusters_approval_rules_update"],
}


def describe_held(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Add the answer 202 of acts that wait for a second person; a hook of drf-spectacular."""
    held = {name for names in HELD_OPERATIONS.values() for name in names}
    waits = {"$ref": "#/components/schemas/HeldBack"}
    for path in result["paths"].values():
        for operation in path.values():
            if operation["operationId"] not in held:
                continue
            known = operation["responses"].get("202", {}).get("content", {}).get("application/json", {}).get("schema")
            schema = {"anyOf": [known, waits]} if known and known != waits else waits
            operation["responses"]["202"] = {"description": HELD, "content": {"application/json": {"schema": schema}}}
    return result


def describe_live(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Add `live/` of pools, entries and poolers; a hook of drf-spectacular."""
    for noun in ("pools", "entries", "poolers"):
        operation = dict(result["paths"][f"/api/v1/{noun}/{{id}}/"]["get"])
        result["paths"][f"/api/v1/{noun}/{{id}}/live/"] = {
            "get": operation
            | {
                "operationId": f"{noun}_live_retrieve",
                "summary": "Current figures, once a second",
                "description": LIVE,
                "parameters": [parameter for parameter in operation["parameters"] if parameter["name"] != WAIT.name],
                "responses": {
                    "200": {
                        "content": {"text/event-stream": {"schema": {"type": "string"}}},
                        "description": "The figures, until the pooler is removed",
                    },
                    "503": {"description": "Too many streams are open: try again after `Retry-After` seconds"},
                },
            }
        }
    return result
