"""Adds the streams of figures to the OpenAPI schema, because they are not REST framework views."""

from typing import Any

from core.lib.wait_param import WAIT

LIVE = """Stream the current figures as Server-Sent Events: one event `figures` per second.

Its data is `{t, error}` with every figure of `history/`: current counts, rates since the last snapshot, and times in
ms. A figure is null where it is unknown: a rate in the first snapshot, and what a Pgpool-II does not count, such as
waiting clients. With an `error`, the reason why the console gave no answer, there are no figures. The stream has no
history and no event ids."""


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
