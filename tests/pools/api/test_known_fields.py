"""No body loses a field in silence: an unknown one is refused by its name, everywhere in the API."""

from collections.abc import Iterator
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from rest_framework import serializers

from core.lib.known_fields import KnownFields
from tests.benchmarks.records import a_run


def described() -> set[str]:
    """The names of all bodies that the API's description speaks of."""
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]  # type: ignore[no-untyped-call]
    bodies = [verb.get("requestBody") for path in paths.values() for verb in path.values() if isinstance(verb, dict)]
    found = [body["content"]["application/json"]["schema"].get("$ref", "") for body in bodies if body]
    return {ref.rpartition("/")[2].removeprefix("Patched") for ref in found if ref}


def below(kind: type[serializers.BaseSerializer[Any]]) -> Iterator[type[serializers.BaseSerializer[Any]]]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def test_every_body_that_the_description_names_knows_its_fields() -> None:
    by_name = {one.__name__.removesuffix("Serializer"): one for one in below(serializers.BaseSerializer)}
    names = described()
    assert {"Pool", "Cluster", "Pooler", "AskedRun", "Token"} <= names
    assert [name for name in sorted(names) if not issubclass(by_name[name], KnownFields)] == []


@pytest.mark.parametrize("verb", ["post", "put", "patch"])
@pytest.mark.parametrize("noun", ["clusters", "poolers", "pools"])
def test_a_misspelled_field_is_refused_with_those_there_are(admin, cluster, pooler, pool, noun, verb):
    subject = {"clusters": cluster, "poolers": pooler, "pools": pool}[noun]
    url = f"/api/v1/{noun}/" if verb == "post" else f"/api/v1/{noun}/{subject.pk}/"
    pool_set = admin.get(f"/api/v1/{noun}/{subject.pk}/").json() if verb == "put" else {}
    answer = getattr(admin, verb)(url, {**pool_set, "nmae": "x"})
    assert (answer.status_code, list(answer.json())) == (400, ["nmae"])
    assert answer.json()["nmae"][0].startswith("there is no such field: use version, name, ")


@pytest.mark.parametrize(
    ("path", "asked", "reported"),
    [
        ("runs/", {"traget": {}}, "traget"),
        ("runs/import/", {"txt": ""}, "txt"),
        ("tokens/", {"name": "x", "scope": "read"}, "scope"),
        ("scripts/", {"name": "x", "body": ""}, "body"),
        ("settings-profiles/", {"name": "x", "settings": {}}, "settings"),
    ],
)
def test_so_do_the_others(admin, path, asked, reported):
    answer = admin.post(f"/api/v1/{path}", asked)
    assert (answer.status_code, list(answer.json())) == (400, [reported])


@pytest.mark.parametrize("verb", ["pause", "kill"])
def test_so_do_the_verbs_of_a_pool(admin, pool, verb):
    answer = admin.post(f"/api/v1/pools/{pool.pk}/{verb}/", {"hold": 5})
    assert (answer.status_code, list(answer.json())) == (400, ["hold"])


def test_what_is_read_can_be_sent_back(admin, pool, pooler):
    for url in (f"/api/v1/pools/{pool.pk}/", f"/api/v1/poolers/{pooler.pk}/"):
        answer = admin.patch(url, admin.get(url).json())
        assert "there is no such field" not in answer.content.decode()


def test_a_note_of_a_run_is_spelled_right_or_refused(admin):
    run = a_run()
    answer = admin.patch(f"/api/v1/runs/{run.pk}/", {"notes": "x"})
    assert (answer.status_code, answer.json()) == (400, {"notes": ["there is no such field: use name, note, tags"]})
