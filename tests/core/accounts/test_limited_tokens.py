"""Tokens that are limited to one cluster or one pool: its record and what belongs to it, whatever is forged."""

import uuid

import pytest
from rest_framework.test import APIClient

from benchmarks.models import Ceiling, Dataset, ExternalEndpoint, Holder, Script, SettingsProfile
from core.accounts.access import Access, LimitedAccess, limited_model
from core.accounts.models import ApiToken, LimitKind, Membership, Role, Team, digest
from core.accounts.routes import all_routes
from tests.benchmarks.experiments.records import an_experiment
from tests.benchmarks.records import a_finished_run
from tests.callers import EVERY_SCOPE, bearer, person
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry

pytestmark = pytest.mark.django_db
API = "/api/v1"
LISTS = ("clusters", "poolers", "pools", "entries", "runs", "experiments", "events", "hosts", "external-endpoints")


class Installation:
    """A cluster with a pool, a sibling pool of it, and what belongs to another cluster."""

    def __init__(self) -> None:
        self.cluster, self.other = a_cluster(name="own"), a_cluster(name="other")
        self.pooler = a_pooler(name="front")
        self.pool = a_pool(name="app", cluster=self.cluster, pooler=self.pooler)
        self.sibling = a_pool(name="sibling", cluster=self.cluster, pooler=self.pooler)
        self.stranger = a_pool(name="stranger", cluster=self.other, pooler=self.pooler)
        self.run = a_finished_run(cluster=self.cluster, pool=self.pool)
        self.direct = a_finished_run(cluster=self.cluster)
        self.other_run = a_finished_run(cluster=self.other, pool=self.stranger)
        self.imported = a_finished_run()
        self.experiment, self.other_experiment = an_experiment(cluster=self.cluster), an_experiment(cluster=self.other)
        self.event, self.other_event = an_event(self.pool), an_event(self.stranger)
        an_entry(cluster=self.cluster)
        ExternalEndpoint.objects.create(name="elsewhere", host="h", database="d", user="u")


@pytest.fixture
def installed() -> Installation:
    return Installation()


def limited(kind: str, key: object, *scopes: str, user: object = None) -> APIClient:
    """A client with a token that is limited to this record."""
    text = ApiToken.objects.issue(user or person(), "ci", list(scopes or EVERY_SCOPE), None, key, LimitKind(kind))
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


def listed(client: APIClient, name: str) -> set[str]:
    """The ids in a list, which must agree with its count; empty where it is refused."""
    answer = client.get(f"{API}/{name}/")
    if answer.status_code == 403:
        return set()
    found = {row["id"] for row in answer.json()["results"]}
    assert answer.json()["count"] == len(found)
    return found


def test_a_token_of_a_pool_lists_the_pool_and_what_belongs_to_it(installed):
    client = limited("pool", installed.pool.pk)
    found = {name: ids for name in LISTS if (ids := listed(client, name))}
    own = {"pools": installed.pool, "runs": installed.run, "events": installed.event}
    assert found == {name: {str(one.pk)} for name, one in own.items()}


def test_a_token_of_a_cluster_lists_the_cluster_and_what_belongs_to_it(installed):
    client = limited("cluster", installed.cluster.pk)
    found = {name: ids for name in LISTS if (ids := listed(client, name))}
    own = {
        "clusters": [installed.cluster],
        "pools": [installed.pool, installed.sibling],
        "runs": [installed.run, installed.direct],
        "experiments": [installed.experiment],
        "events": [installed.event],
    }
    assert found == {name: {str(one.pk) for one in rows} for name, rows in own.items()}


@pytest.mark.parametrize(
    ("method", "path", "body", "of_pool", "of_cluster"),
    [
        ("get", "pools/{0.pool.pk}/", {}, 200, 200),
        ("get", "pools/{0.pool.pk}/connection/?as=uri", {}, 200, 200),
        ("get", "pools/{0.sibling.pk}/", {}, 404, 200),
        ("get", "pools/{0.stranger.pk}/", {}, 404, 404),
        ("patch", "pools/{0.pool.pk}/", {"pooler": "{0.pooler.pk}"}, 404, 404),
        ("patch", "pools/{0.pool.pk}/", {"cluster": "{0.other.pk}"}, 404, 404),
        ("patch", "pools/{0.stranger.pk}/", {"size": 5}, 404, 404),
        ("delete", "pools/{0.stranger.pk}/", {}, 404, 404),
        ("post", "pools/{0.stranger.pk}/pause/", {}, 404, 404),
        ("post", "pools/", {}, 403, 403),
        ("get", "clusters/{0.cluster.pk}/", {}, 404, 200),
        ("get", "clusters/{0.other.pk}/", {}, 404, 404),
        ("patch", "clusters/{0.cluster.pk}/", {"memory_mb": 64}, 403, 200),
        ("patch", "clusters/{0.other.pk}/", {"memory_mb": 64}, 403, 404),
        ("delete", "clusters/{0.other.pk}/", {}, 403, 404),
        ("get", "clusters/{0.other.pk}/databases/", {}, 404, 404),
        ("post", "clusters/", {"name": "new", "host": "h", "admin_user": "u"}, 403, 403),
        ("get", "poolers/{0.pooler.pk}/", {}, 404, 404),
        ("get", "poolers/{0.pooler.pk}/files/", {}, 403, 403),
        ("post", "poolers/{0.pooler.pk}/apply/", {}, 403, 403),
        ("post", "poolers/{0.pooler.pk}/files-token/", {}, 403, 403),
        ("post", "poolers/", {}, 403, 403),
        ("get", "runs/{0.run.pk}/", {}, 200, 200),
        ("get", "runs/{0.direct.pk}/", {}, 404, 200),
        ("get", "runs/{0.other_run.pk}/", {}, 404, 404),
        ("get", "runs/{0.other_run.pk}/samples/", {}, 404, 404),
        ("get", "runs/{0.imported.pk}/", {}, 404, 404),
        ("patch", "runs/{0.other_run.pk}/", {"note": "x"}, 404, 404),
        ("post", "runs/{0.other_run.pk}/cancel/", {}, 404, 404),
        ("post", "runs/", {"target": {"pool": "{0.stranger.pk}"}}, 400, 400),
        ("post", "runs/", {"target": {"cluster": "{0.other.pk}", "database": "d"}}, 400, 400),
        ("post", "runs/import/", {"text": "x"}, 403, 403),
        ("get", "comparisons/?runs={0.run.pk},{0.other_run.pk}", {}, 404, 404),
        ("get", "experiments/{0.experiment.pk}/", {}, 404, 200),
        ("get", "experiments/{0.other_experiment.pk}/", {}, 404, 404),
        ("get", "experiments/{0.other_experiment.pk}/report/?as=json", {}, 404, 404),
        ("post", "experiments/", {"playbook": "burst", "cluster": "{0.other.pk}"}, 403, 403),
        ("post", "playbooks/", {"toml": ""}, 403, 403),
        ("post", "scripts/", {}, 403, 403),
        ("post", "hosts/", {}, 403, 403),
        ("get", "hosts/", {}, 403, 403),
        ("get", "tokens/", {}, 403, 403),
        ("post", "tokens/", {"name": "wider", "scopes": ["admin"]}, 403, 403),
        ("get", "engines/", {}, 200, 200),
    ],
)
def test_a_limited_token_on_a_route(installed, method, path, body, of_pool, of_cluster):
    values = {name: _filled(value, installed) for name, value in body.items()}
    found = []
    for kind, record in (("pool", installed.pool), ("cluster", installed.cluster)):
        client = limited(kind, record.pk)
        found.append(getattr(client, method)(f"{API}/{path.format(installed)}", values, format="json").status_code)
    assert found == [of_pool, of_cluster]


def _filled(value: object, installed: Installation) -> object:
    if isinstance(value, dict):
        return {name: _filled(one, installed) for name, one in value.items()}
    return value.format(installed) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("kind", "key"),
    [("pool", None), ("cluster", None), ("pool", uuid.uuid4()), ("cluster", uuid.uuid4()), ("team", uuid.uuid4())],
)
def test_a_limit_that_was_edited_leaves_nothing(installed, kind, key):
    client = limited("pool", installed.pool.pk)
    ApiToken.objects.update(limit_kind=kind, limited_to=key)
    assert {name: ids for name in LISTS if (ids := listed(client, name))} == {}
    assert client.get(f"{API}/pools/{installed.pool.pk}/").status_code in (403, 404)
    assert client.post(f"{API}/pools/{installed.pool.pk}/pause/").status_code in (403, 404)


def test_a_limit_of_one_kind_does_not_pass_for_another(installed):
    client = limited("pool", installed.pool.pk)
    ApiToken.objects.update(limit_kind="cluster")
    assert listed(client, "pools") == set()
    ApiToken.objects.update(limit_kind="")
    assert client.get(f"{API}/pools/{installed.pool.pk}/").status_code == 403


def test_a_limit_never_gives_what_its_holder_has_not(installed):
    second = Team.objects.create(name="Payments")
    user = person(staff=False)
    Membership.objects.create(team=second, user=user, role=Role.OWNER)
    client = limited("cluster", installed.cluster.pk, user=user)
    assert listed(client, "clusters") == set()
    assert client.get(f"{API}/pools/{installed.pool.pk}/").status_code == 404
    mine = a_cluster(name="mine", team=second)
    client = limited("cluster", mine.pk, "read", user=user)
    assert listed(client, "clusters") == {str(mine.pk)}
    assert client.patch(f"{API}/clusters/{mine.pk}/", {"memory_mb": 64}).status_code == 403


def test_no_model_shows_a_limited_token_more_than_an_unlimited_one(installed):
    """Whatever `visible_to` says of a model, a limit takes away; a record of no cluster is none of its."""
    Dataset.objects.create(cluster=installed.other, database="d", scale=1)
    Ceiling.objects.create(holder=Holder.EVERYONE, clients=5)
    SettingsProfile.objects.create(name="p", values={})
    user = person(staff=False)
    rows = {"limited_to": installed.cluster.pk, "limit_kind": LimitKind.CLUSTER}
    access = Access.by(user, ApiToken(user=user, scopes=["admin"], **rows))
    assert isinstance(access, LimitedAccess)
    for model in (Dataset, Ceiling, SettingsProfile, Script, Team, ExternalEndpoint):
        assert not access.visible(model._default_manager.all()).exists(), model
    for kind in LimitKind:
        assert access.visible(limited_model(kind)._default_manager.all()).count() <= 2


def test_metrics_count_what_the_limit_leaves(installed):
    text = limited("pool", installed.pool.pk, "read").get("/metrics").content.decode()
    assert 'pooldeck_runs{status="succeeded"} 1.0' in text
    assert "stranger" not in text


def test_the_managed_api_has_the_cluster_alone(installed):
    client = limited("cluster", installed.cluster.pk)
    assert [one["id"] for one in client.get("/v2/databases").json()["databases"]] == [str(installed.cluster.pk)]
    assert client.get(f"/v2/databases/{installed.other.pk}").status_code == 404
    assert client.post("/v2/databases", {"name": "new"}, format="json").status_code == 403


def test_what_limited_tokens_may_do_is_declared(installed):
    """Only what names a kind of limit, or reads, lets one in: a new operation is refused until somebody decides."""
    user = person()
    access = Access.by(user, ApiToken(user=user, limited_to=installed.pool.pk, limit_kind=LimitKind.POOL))
    let_in = {route.operation.name for route in all_routes() if route.operation and access.has_role(route.operation)}
    writing = {name for name in let_in if not name.endswith((".view", ".read"))}
    assert writing == {
        "event.acknowledge",
        "pool.change",
        "pool.check",
        "pool.console",
        "pool.logins",
        "pool.remove",
        "pool.reveal",
        "run.annotate",
        "run.cancel",
        "run.start",
    } & {route.operation.name for route in all_routes() if route.operation}


def test_a_limit_is_asked_for_over_the_api_and_shown(installed):
    asked = {"name": "ci", "scopes": ["read"], "pool": str(installed.pool.pk)}
    made = bearer().post(f"{API}/tokens/", asked, format="json").json()
    assert (made["pool"], made["cluster"], made["limited_to"]) == (str(installed.pool.pk), None, None)
    token = ApiToken.objects.get(digest=digest(made["token"]))
    assert (token.limit_kind, token.limited_to) == ("pool", installed.pool.pk)


@pytest.mark.parametrize("field", ["cluster", "pool"])
def test_a_limit_to_what_is_not_there_is_refused(installed, field):
    key = str(uuid.uuid4())
    answer = bearer().post(f"{API}/tokens/", {"name": "ci", "scopes": ["read"], field: key}, format="json")
    assert answer.status_code == 400
    assert answer.json() == {field: [f"there is no {field} {key} that the token could see"]}


def test_a_token_is_limited_to_one_record(installed):
    both = {"cluster": str(installed.cluster.pk), "pool": str(installed.pool.pk)}
    answer = bearer().post(f"{API}/tokens/", {"name": "ci", "scopes": ["read"], **both}, format="json")
    assert (answer.status_code, answer.json()) == (400, {"pool": ["give a cluster or a pool, not both"]})
