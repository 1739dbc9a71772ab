"""Tells the API's description of the streams of figures, which are no views of REST framework's."""

from typing import Any

LIVE = """What it does now as Server-Sent Events: one `figures` a second, as long as somebody listens.

Its data is `{t, error}` with every figure of `history/`: counts now, rates since the look before, times in ms; null is
what nobody can tell: a rate at the first look, and what a Pgpool-II does not count, such as the clients that wait. With
an `error`, which says why the console has nothing to tell, there are no figures. There is no history in it, and no
id."""


def describe_live(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add `pools/{id}/live/` and `poolers/{id}/live/`; a hook of drf-spectacular."""
    for noun in ("pools", "poolers"):
        one = dict(result["paths"][f"/api/v1/{noun}/{{id}}/"]["get"])
        result["paths"][f"/api/v1/{noun}/{{id}}/live/"] = {
            "get": one
            | {
                "operationId": f"{noun}_live_retrieve",
                "summary": "What it does, each second",
                "description": LIVE,
                "responses": {
                    "200": {
                        "content": {"text/event-stream": {"schema": {"type": "string"}}},
                        "description": "The figures, until the pooler is forgotten",
                    },
                    "503": {"description": "Too many streams are open: try again after `Retry-After` seconds"},
                },
            }
        }
    return result
