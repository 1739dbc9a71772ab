"""The examples of the API's description: every operation has one, and each is valid and accepted."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework import serializers
from rest_framework.test import APIClient

from benchmarks.api import example_values as of_benchmarks
from benchmarks.models import Ceiling, ExternalEndpoint, Run, Schedule, Script, SettingsProfile
from core.accounts.models import Membership, Role, Team
from core.accounts.people.serializers import MemberSerializer, TeamSerializer
from core.rest.examples import FORMATS, add_examples, of_serializers
from pools.api import example_values as of_pools
from pools.api.channels import ChannelSerializer
from pools.api.entries import EntrySerializer
from pools.api.hosts import HostSerializer
from pools.models import Cluster, Entry, Host, NotificationChannel, Pool, Pooler, Revision, ShelfEntry
from tests import openapi
from tests.benchmarks.experiments.records import an_experiment
from tests.benchmarks.records import a_finished_run
from tests.callers import bearer
from tests.pools.hosts.fakes import a_host
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, an_entry, checked, know_password

pytestmark = pytest.mark.django_db
JSON = "application/json"
UNREACHABLE = (409, 502, 503)  # of a server that is not there, and of what needs one first
MEMBER = MemberSerializer.example["user"]
RECORDS: dict[str, tuple[type[Model], Any]] = {
    "clusters": (Cluster, of_pools.CLUSTER),
    "poolers": (Pooler, of_pools.POOLER),
    "pools": (Pool, of_pools.POOL),
    "entries": (Entry, EntrySerializer.example["id"]),
    "hosts": (Host, HostSerializer.example["id"]),
    "events/channels": (NotificationChannel, ChannelSerializer.example["id"]),
    "runs": (Run, of_benchmarks.RUN),
    "schedules": (Schedule, of_benchmarks.SCHEDULE),
    "scripts": (Script, of_benchmarks.SCRIPT),
    "settings-profiles": (SettingsProfile, of_benchmarks.PROFILE),
    "external-endpoints": (ExternalEndpoint, of_benchmarks.EXTERNAL),
    "teams": (Team, TeamSerializer.example["id"]),
    "people": (User, MEMBER),
}
EMPTY_BEFORE: dict[str, tuple[type[Model], ...]] = {"shelf": (ShelfEntry, Pool), "ceilings": (Ceiling,)}
PARTS = {"user": MEMBER, "kind": "waiting", "setting": "auth_hba_file", "name": "orders", "cluster": of_pools.CLUSTER}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and operation."""
    for path, found in openapi.description()["paths"].items():
        for method, operation in found.items():
            yield path, method, operation


def requests() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Path, method, name of the operation and media type of each JSON request."""
    for path, method, operation in operations():
        if content := operation.get("requestBody", {}).get("content", {}).get(JSON):
            yield path, method, operation["operationId"], content


def answers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name of the operation and media type of each JSON answer but errors."""
    for _path, _method, operation in operations():
        for status, response in operation["responses"].items():
            if status != "default" and (content := response.get("content", {}).get(JSON)):
                yield f"{operation['operationId']} {status}", content


def bodies(content: dict[str, Any]) -> list[Any]:
    """All examples of a media type."""
    several = [one["value"] for one in content.get("examples", {}).values()]
    return several or ([content["example"]] if "example" in content else [])


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of an example that is no object or list, with its field."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else ((name, one) for one in value):
            yield from leaves(one, key)
    else:
        yield name, value


def test_every_request_and_every_answer_has_an_example():
    assert len(list(requests())) > 30
    assert [name for *_where, name, content in requests() if not bodies(content)] == []
    assert [name for name, content in answers() if not bodies(content)] == []


def test_each_example_is_valid_by_its_schema():
    described, wrong = openapi.description(), []
    for *_where, name, content in requests():
        wrong += [(name, openapi.faults(described, content["schema"], one, written=True)) for one in bodies(content)]
    for name, content in answers():
        wrong += [(name, openapi.faults(described, content["schema"], one, written=False)) for one in bodies(content)]
    assert [one for one in wrong if one[1]] == []


def test_no_example_shows_a_field_without_a_value_of_its_own():
    shown = [(name, one) for *_where, name, content in requests() for one in bodies(content)]
    shown += [(name, one) for name, content in answers() for one in bodies(content)]
    unnamed = {(name, field) for name, body in shown for field, value in leaves(body) if value == "string"}
    assert unnamed == set(), "give its serializer's `example` a value"


def test_the_example_of_a_serializer_has_only_fields_of_its_own():
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]  # as drf-spectacular has it
    schemas = generator.get_schema(public=True)["components"]["schemas"]
    found = of_serializers(schemas, generator.registry)
    assert sum(map(len, found.values())) > 500
    unknown = {name: set(example) - set(schemas[name].get("properties", ())) for name, example in found.items()}
    assert {name: fields for name, fields in unknown.items() if fields} == {}


def test_passwords_are_placeholders():
    shown = [one for *_where, content in requests() for one in bodies(content)]
    shown += [one for _name, content in answers() for one in bodies(content)]
    found = {value for body in shown for field, value in leaves(body) if "password" in field or field == "token"}
    assert {value for value in found if value and not value.removeprefix("pd_").isupper()} == set()


def test_several_examples_of_a_request_have_summaries():
    described = openapi.description()["paths"]["/api/v1/runs/"]["post"]["requestBody"]["content"][JSON]["examples"]
    assert described["example1"]["summary"] == "pgbench through a pool, a new connection for each transaction"
    assert [one["value"]["engine"] for one in described.values()][:4] == ["pgbench", "sysbench", "http", "jmeter"]


@pytest.fixture
def records() -> APIClient:
    """What the examples refer to; returns a caller who may change all of it."""
    author = User.objects.create_superuser("root")
    cluster = a_cluster("ADMIN-PASSWORD", pk=of_pools.CLUSTER, name="orders", memory_mb=16384, version=3)
    roles = [{"name": "orders_app", "can_login": True, "superuser": False, "connection_limit": -1}]
    databases = [{"name": name, "owner": "postgres", "size_bytes": 1} for name in ("postgres", "orders")]
    checked(cluster, roles=roles, databases=databases)
    know_password(cluster, "orders_app", "secret")
    a_node(cluster, pk=7)
    pooler = a_pooler(pk=of_pools.POOLER, version=3, server_version="1.25.1")
    Revision.objects.create(pooler=pooler, number=10)
    Revision.objects.draft(pooler, {"pgbouncer.ini": "[databases]\n"}, state="applied", specs={"pools": []})
    spec = {"database": "orders", "user": "orders_app", "version": 2, "state": "applied"}
    pool = a_pool(pk=of_pools.POOL, name="orders", pooler=pooler, cluster=cluster, **spec)
    an_entry(
        pk=EntrySerializer.example["id"],
        name=EntrySerializer.example["name"],
        pooler=a_pooler(config_dir="", port=1),
        cluster=cluster,
    )
    offered = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    a_host(pk=HostSerializer.example["id"], version=2, offered_host_key=offered)
    a_host("load-1", pk=of_benchmarks.LOAD_HOST, state="online", programs={"pgbench": {"version": "17.6"}})
    channel = NotificationChannel(pk=ChannelSerializer.example["id"], name="on-call", service="Slack")
    channel.url = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"
    channel.save(force_insert=True)
    for run in of_benchmarks.RUNS:
        a_finished_run(pk=run, pool=pool, cluster=cluster)
    an_experiment(pk=of_benchmarks.EXPERIMENT, cluster=cluster)
    when = {"cron": "15 2 * * *", "time_zone": "UTC", "author": author}
    Schedule.objects.create(pk=of_benchmarks.SCHEDULE, name="nightly", run_id=of_benchmarks.RUN, **when)
    script = Script.objects.create(pk=of_benchmarks.SCRIPT, name="order-lookup")
    script.versions.create(number=1, text="SELECT 1;", author=author)
    SettingsProfile.objects.create(pk=of_benchmarks.PROFILE, name="larger-memory", values={"work_mem": "32MB"})
    ExternalEndpoint.objects.create(
        pk=of_benchmarks.EXTERNAL, name="rds-proxy", host="proxy.example.org", port=5432, database="orders", user="app"
    )
    Ceiling.objects.create(pk=2, cluster=cluster, holder="staff", clients=100)
    team = Team.objects.create(pk=TeamSerializer.example["id"], name=TeamSerializer.example["name"])
    Membership.objects.create(team=team, user=User.objects.create_user("bo", pk=MEMBER), role=Role.VIEWER)
    User.objects.create_user(MemberSerializer.example["username"])
    ShelfEntry.objects.create(cluster=cluster, size="small", region="here")
    return bearer(user=author)


def address(path: str) -> str:
    """The address of what the examples refer to; a ceiling has a number, the others the id of their kind."""
    below = path.removeprefix("/api/v1/")
    keys = {noun: key for noun, (_model, key) in RECORDS.items()} | {"experiments": of_benchmarks.EXPERIMENT}
    key = next((key for noun, key in keys.items() if below.startswith(f"{noun}/")), "2")
    return path.format(id=key, **PARTS)


def sent(caller: APIClient, method: str, path: str, body: Any) -> Any:
    """The answer to a request, which leaves nothing behind; what is created finds its name free."""
    noun = path.removeprefix("/api/v1/").strip("/")
    with transaction.atomic():
        if method == "post" and noun in RECORDS:
            model, key = RECORDS[noun]
            model._default_manager.filter(pk=key).update(name="another")
        for model in EMPTY_BEFORE.get(noun, ()) if method == "post" else ():
            model._default_manager.all().delete()
        answer = caller.generic(method, address(path), json.dumps(body), content_type=JSON)
        transaction.set_rollback(True)
    return answer


def is_refused(answer: Any) -> bool:
    """Whether a request was refused for what it says, and not because no server answers here."""
    status = answer.status_code
    return status >= 300 and status not in UNREACHABLE and b"connection refused" not in answer.content


def test_each_example_of_a_request_is_accepted(nothing_leaves: None, records: APIClient):
    refused = [
        (name, answer.status_code, answer.json())
        for path, method, name, content in requests()
        for body in bodies(content)
        if is_refused(answer := sent(records, method, path, body))
    ]
    assert refused == [], "\n".join(map(str, refused))


TOY = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid", "readOnly": True},
        "secret": {"type": "string", "writeOnly": True},
        "label": {"type": "string"},
        "mode": {"type": "string", "enum": ["a", "b"], "default": "b"},
        "size": {"type": "integer", "minimum": 5},
        "at": {"type": "string", "format": "date-time"},
        "parts": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Part"}]}},
    },
}


class PartSerializer(serializers.Serializer[Any]):
    """A part of a toy, and what is written down of it."""

    example: dict[str, object] = {"size": 2.5}


def described_toys(generator: SchemaGenerator) -> dict[str, Any]:
    """The operation that makes a toy, with its examples."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Toy"}}}
    operation: dict[str, Any] = {
        "operationId": "toys_create",
        "requestBody": {"content": {JSON: dict(content[JSON])}},
        "responses": {"201": {"content": {JSON: dict(content[JSON])}}, "204": {}},
    }
    schemas = {"Toy": TOY, "Part": {"type": "object", "properties": {"size": {"type": "number"}}}}
    add_examples({"paths": {"/toys/": {"post": operation}}, "components": {"schemas": schemas}}, generator)
    return operation


@pytest.fixture
def generator(settings: Any) -> SchemaGenerator:
    """A generator that has described nothing yet, in a panel without examples of operations."""
    settings.API_EXAMPLES = []
    return SchemaGenerator()


def test_examples_are_made_of_the_schema_where_none_is_written(generator: SchemaGenerator):
    operation = described_toys(generator)
    made = {"label": "string", "mode": "b", "size": 5, "at": FORMATS["date-time"], "parts": [{"size": 1.0}]}
    assert bodies(operation["requestBody"]["content"][JSON]) == [{"secret": "string"} | made]
    assert bodies(operation["responses"]["201"]["content"][JSON]) == [{"id": FORMATS["uuid"]} | made]


def test_a_serializer_says_the_values_of_its_fields_wherever_it_is_nested(generator: SchemaGenerator):
    part = ResolvedComponent("Part", ResolvedComponent.SCHEMA, schema={}, object=PartSerializer())
    generator.registry.register(part)
    (answer,) = bodies(described_toys(generator)["responses"]["201"]["content"][JSON])
    assert answer["parts"] == [{"size": 2.5}]


def test_a_page_of_rows_does_not_have_the_values_of_a_row(generator: SchemaGenerator):
    for name in ("Part", "PaginatedPartList"):
        component = ResolvedComponent(name, ResolvedComponent.SCHEMA, schema={}, object=PartSerializer())
        generator.registry.register(component)
    assert of_serializers(["Part", "PaginatedPartList"], generator.registry) == {"Part": {"size": 2.5}}
