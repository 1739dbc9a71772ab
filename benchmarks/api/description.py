"""Tells the API's description of the event stream, which is no view of REST framework's."""

from typing import Any

EVENTS = """What happens in the run as Server-Sent Events: the history first, then live, until its end.

Events are `sample`, `pool`, `waits`, `state`, `log` and `end`, each with an id `ATTEMPT-SEQ` and JSON as data; a
`sample` is what `samples/` lists. `Last-Event-ID` or `after` resumes behind that event; 204 when the end was seen."""


def describe_events(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add `runs/{id}/events/`; a hook of drf-spectacular."""
    run = dict(result["paths"]["/api/v1/runs/{id}/"]["get"])
    result["paths"]["/api/v1/runs/{id}/events/"] = {
        "get": run
        | {
            "operationId": "runs_events_retrieve",
            "summary": "What happens in the run, as it happens",
            "description": EVENTS,
            "parameters": [*run["parameters"], _text("Last-Event-ID", "header"), _text("after", "query")],
            "responses": {
                "200": {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "The events"},
                "503": {"description": "Too many streams are open: try again after `Retry-After` seconds"},
                "204": {"description": "There is nothing after that event any more"},
            },
        }
    }
    return result


def _text(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": {"type": "string"}, "description": "The id of the last event seen"}
