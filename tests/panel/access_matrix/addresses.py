"""The addresses of the panel, with a record that is there for each part that varies, and bodies that they take."""

import re
from functools import cache
from typing import Any

from tests import openapi

PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
# what the first word of an address leads to, where `every_record` calls it otherwise
RECORDS = {
    "clusters": "cluster",
    "databases": "cluster",
    "poolers": "pooler",
    "hosts": "host",
    "pools": "pool",
    "entries": "entry",
    "events": "event",
    "runs": "run",
    "experiments": "experiment",
    "external-endpoints": "external",
    "scripts": "script",
    "schedules": "schedule",
    "settings-profiles": "profile",
    "ceilings": "ceiling",
    "approvals": "approval",
    "tokens": "token",
    "links": "link",
    "shared-links": "link",
    "teams": "team",
    "people": "person",
    "invitations": "invitation",
}
# of addresses that begin so; the first that fits counts
OTHER_RECORDS = {
    "teams/of/": "cluster",
    "events/channels/": "channel",
    "shelf/creations/": "creation",
    "scripts/tried/": "dry_run",
    "account/passkeys/": "passkey",
    "account/provider/": "linked",
    "poolers/<uuid:pk>/fetches/": "pulled",
    "poolers/<uuid:pk>/fetch-examples/": "pulled",
    "poolers/<uuid:pk>/files/": "pulled",
    "poolers/<uuid:pk>/nodes/": "pgpool",
    "poolers/<uuid:pk>/attach-node/": "pgpool",
    "poolers/<uuid:pk>/detach-node/": "pgpool",
}
WORDS = {"source": "pool", "name": "zqdatabase", "word": "pools", "setting": "auth_hba_file", "kind": "html"}
QUERIES = {
    "schedules/new/": "?run={run}",
    "runs/compare/links/": "?run={run}&run={other_run}",
    "settings-profiles/<uuid:pk>/check/": "?cluster={cluster}",
    "clusters/<uuid:pk>/sessions/": "?started=2026-01-31T12:00:00Z",
    "pools/<uuid:pk>/clients/<int:number>/": "?connected=2026-01-31",
    "entries/<uuid:pk>/clients/<int:number>/": "?connected=2026-01-31",
}
JSON = "application/json"
OF_MANAGED = {"name": "zqnew", "mode": "transaction", "size": 1, "db": "zqdatabase", "user": "zqrole"}
OF_MANAGED |= {"day": "tuesday", "hour": "14:00", "config": {}}
OTHER_WORDS = {
    "teams/of/": {"kind": "cluster"},
    "help/": {"name": "index.html"},
    "clusters/<uuid:pk>/users/": {"name": "zqrole"},
    "databases/<uuid:pk>/users/": {"name": "zqrole"},
    "databases/<uuid:pk>/pools/": {"name": "zqpool"},
    "databases/<uuid:pk>/<str:word>": {"word": "replicas"},
    "events/thresholds/": {"kind": "waiting"},
    "generators/": {"name": "zqgenerator", "pk": "zqgenerator"},
    "playbooks/": {"name": "zqplaybook"},
    "poolers/<uuid:pk>/fetch-examples/": {"name": "ansible.yml"},
    "scripts/<uuid:pk>/": {"number": 1},
    "pools/<uuid:pk>/console/": {"word": "pause"},
    "entries/<uuid:pk>/console/": {"word": "pause"},
    "clusters/<uuid:pk>/sessions/": {"word": "terminate", "pid": 4242},
}


def address_of(path: str, records: dict[str, Any]) -> str:
    """The address of a path of the URLconf, for records of `every_record`."""
    below = _below(path)
    first = below.split("/")[0]
    noun = _fitting(below, OTHER_RECORDS) or RECORDS.get(first, first)
    values = {"pk": records.get(noun), **{name: records[name] for name in ("pool", "node", "number", "member")}}
    values |= {"user": records["member"], "token": records["shared"]}
    values |= WORDS | (_fitting(below, OTHER_WORDS) or {})
    query = (_fitting(below, QUERIES) or "").format(**records)
    return "/" + PLACE.sub(lambda place: str(values[place[1]]), path) + query


def body_of(path: str, method: str) -> Any:
    """A body that the method of an API takes: the one in its description."""
    if path.startswith("v2/"):
        return OF_MANAGED
    content = (
        _described().get("/" + PLACE.sub("{}", path), {}).get(method, {}).get("requestBody", {}).get("content", {})
    )
    described = content.get(JSON, {})
    several = [one["value"] for one in described.get("examples", {}).values()]
    return several[0] if several else described.get("example", {})


@cache
def _described() -> dict[str, Any]:
    return {re.sub(r"{\w+}", "{}", path): operations for path, operations in openapi.description()["paths"].items()}


def _below(path: str) -> str:
    return path.removeprefix("api/v1/").removeprefix("v2/")


def _fitting(below: str, by_beginning: dict[str, Any]) -> Any:
    return next((found for beginning, found in by_beginning.items() if below.startswith(beginning)), None)
