"""Adds the event stream to the OpenAPI description, since it is no view of REST framework."""

from benchmarks.engines.option_schemas import JsonSchema
from core.lib.wait_param import WAIT

EVENTS = """Events of a run as Server-Sent Events: first the history, then live events until the run ends.

Each event has an id `ATTEMPT-SEQ` and JSON as data. `Last-Event-ID` or `after` resumes behind that event; 204 after
the last event. All `t` are seconds since the load began; a figure that could not be measured is null or left out.

- `sample`: one progress interval, as `samples/` lists them.
- `pool`: the pool's `cl_active cl_waiting sv_active sv_idle maxwait_ms` (SHOW POOLS), if the run goes through one.
  What Pgpool-II does not count (`cl_waiting maxwait_ms wait_ms service_ms`) is null.
- `pooler`, `waits`, `host`, `generator`: observations about once a second, as `observations/` lists them by kind.
  - `pooler`: `wait_ms` (clients' wait for a server connection) and `service_ms` (their time with one) of a
    transaction of the pool, `transactions_per_s` (SHOW STATS); `all_cl_active all_cl_waiting all_sv_active
    all_maxwait_ms` of the whole pooler if other pools are in use too.
  - `waits` (kind `server`): `waits` and `states`, the sessions of the whole server by what they wait for
    (`type:event`, or `CPU`) and by state (pg_stat_activity); `commits rollbacks blocks_read blocks_hit temp_files
    temp_bytes`, each `_per_s`, of the loaded database (pg_stat_database); `wal_bytes_per_s`, `read_bytes_per_s` and
    `written_bytes_per_s` (pg_stat_io, since 16), and how many `checkpoints_timed` and `checkpoints_requested` began.
  - `host`, if the server runs on the generator's own host: `cpu_percent waiting_percent` (100: all cores),
    `memory_free_bytes memory_available_bytes page_cache_bytes`, `read_bytes_per_s written_bytes_per_s` of its disks.
  - `generator`: `cpu_percent` of the load's processes (100: one core), `busy_percent` of what their `threads` can use,
    `pooler_cpu_percent` of a PgBouncer on the same host, `service_cpu_percent` of the products service of an HTTP run,
    `host_cpu_percent` (100: all cores).
- `state`, `log`, `end`: the run's state, lines that its program printed, and how it ended."""


def describe_events(result: JsonSchema, **_: object) -> JsonSchema:
    """Add `runs/{id}/events/`; a hook of drf-spectacular."""
    run = dict(result["paths"]["/api/v1/runs/{id}/"]["get"])
    own = [parameter for parameter in run["parameters"] if parameter["name"] != WAIT.name]
    result["paths"]["/api/v1/runs/{id}/events/"] = {
        "get": run
        | {
            "operationId": "runs_events_retrieve",
            "summary": "Events of the run, live",
            "description": EVENTS,
            "parameters": [*own, _text("Last-Event-ID", "header"), _text("after", "query")],
            "responses": {
                "200": {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "The events"},
                "503": {"description": "Too many streams are open: try again after `Retry-After` seconds"},
                "204": {"description": "No event follows that one"},
            },
        }
    }
    return result


def _text(name: str, place: str) -> JsonSchema:
    return {"name": name, "in": place, "schema": {"type": "string"}, "description": "The id of the last event seen"}
