"""Read-only links through the API: operators make, list, count and revoke them; the address is answered once."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmarks.models import SharedLink
from core.accounts.models import ApiToken, LimitKind, Membership, Role, Team
from tests.benchmarks.experiments.records import a_measured_experiment
from tests.benchmarks.records import a_finished_run
from tests.callers import anonymous, bearer, person, queries_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/shared-links/"
FIGURES = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195], "10-scram-pgpool": [98, 99, 97]}


def an_operator() -> User:
    user = person(staff=False)
    Membership.objects.filter(user=user).update(role=Role.OPERATOR)
    return user


def make(body: dict[str, Any], **caller: Any) -> Any:
    return bearer("apply", **caller).post(ADDRESS, body, format="json")


def path_of(url: str) -> str:
    return "/shared/" + url.split("/shared/")[1]


def test_a_link_is_made_opened_counted_listed_and_revoked():
    run, user = a_finished_run(), an_operator()
    made = make({"run": str(run.pk)}, user=user)
    body = made.json()
    assert made.status_code == 201
    url = body.pop("url")
    expected = {"run": str(run.pk), "runs": None, "experiment": None, "author": user.username, "works": True}
    assert {name: body[name] for name in expected} == expected
    assert (body["opened"], body["last_opened_at"], body["revoked_at"]) == (0, None, None)
    Client().get(path_of(url))
    client = bearer("apply", user=user)
    (listed,) = client.get(ADDRESS, {"run": str(run.pk)}).json()["results"]
    assert (listed["opened"], "url" in listed, url.split("/")[-2] in str(listed)) == (1, False, False)
    assert client.delete(f"{ADDRESS}{body['id']}/").status_code == 204
    assert client.get(f"{ADDRESS}{body['id']}/").json()["works"] is False
    assert client.get(ADDRESS, {"revoked_at__isnull": "true"}).json()["count"] == 0
    assert Client().get(path_of(url)).status_code == 410


def test_a_comparison_and_an_experiment_are_shown_by_links_too():
    runs, experiment = [a_finished_run(), a_finished_run()], a_measured_experiment(FIGURES)
    keys = [str(run.pk) for run in runs]
    compared = make({"runs": keys, "lifetime_days": 30}).json()
    assert (compared["run"], compared["runs"]) == (keys[0], keys)
    told = make({"experiment": str(experiment.pk)}).json()
    assert (told["experiment"], told["runs"]) == (str(experiment.pk), None)
    texts = [Client().get(path_of(one["url"])).content.decode() for one in (compared, told)]
    assert f"Comparison of runs {runs[0].number}, {runs[1].number}" in texts[0]
    assert f"Experiment {experiment.number}" in texts[1]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "run"),
        ({"run": "RUN", "runs": ["RUN", "RUN"]}, "run"),
        ({"runs": ["RUN"]}, "runs"),
        ({"runs": ["RUN", "RUN"]}, "runs"),
        ({"run": "00000000-0000-4000-8000-000000000000"}, "run"),
        ({"experiment": "00000000-0000-4000-8000-000000000000"}, "experiment"),
        ({"run": "RUN", "baseline": "direct-1"}, "baseline"),
        ({"runs": ["RUN", "OTHER"], "baseline": "direct-1"}, "baseline"),
        ({"run": "RUN", "lifetime_days": 0}, "lifetime_days"),
        ({"run": "RUN", "lifetime_days": 91}, "lifetime_days"),
        ({"run": "RUN", "days": 1}, "days"),
    ],
)
def test_what_makes_no_link_is_refused_at_its_field(body: dict[str, Any], field: str):
    keys = {"RUN": str(a_finished_run().pk), "OTHER": str(a_finished_run().pk)}

    def real(value: Any) -> Any:
        return [real(one) for one in value] if isinstance(value, list) else keys.get(value, value)

    refused = make({name: real(value) for name, value in body.items()})
    assert (refused.status_code, list(refused.json())) == (400, [field])
    assert not SharedLink.objects.exists()


def test_it_takes_an_operator_and_a_token_that_may_apply_and_is_not_limited():
    run = a_finished_run(cluster=a_cluster())
    body = {"run": str(run.pk)}
    developer = person(staff=False)
    Membership.objects.filter(user=developer).update(role=Role.DEVELOPER)
    assert make(body, user=developer).status_code == 403
    assert bearer("read", "run", user=an_operator()).post(ADDRESS, body, format="json").status_code == 403
    limited = bearer("apply", user=an_operator())
    ApiToken.objects.update(limited_to=run.cluster_id, limit_kind=LimitKind.CLUSTER)
    assert [limited.post(ADDRESS, body, format="json").status_code, limited.get(ADDRESS).status_code] == [403, 403]
    assert anonymous().get(ADDRESS).status_code == 401


def test_links_of_another_team_are_not_found():
    client, theirs = bearer("apply", user=an_operator()), Team.objects.create(name="Payments")
    made = make({"run": str(a_finished_run(cluster=a_cluster(team=theirs)).pk)}).json()
    assert client.get(ADDRESS).json()["count"] == 0
    assert [
        client.get(f"{ADDRESS}{made['id']}/").status_code,
        client.delete(f"{ADDRESS}{made['id']}/").status_code,
    ] == [
        404,
        404,
    ]
    assert client.post(ADDRESS, {"run": made["run"]}, format="json").json() == {
        "run": [f"no record that you may see has the id {made['run']}"]
    }


def test_the_list_takes_the_same_queries_for_three_links():
    client = bearer("apply")
    make({"run": str(a_finished_run().pk)})
    one = queries_of(client, ADDRESS)
    for _ in range(2):
        make({"runs": [str(a_finished_run().pk), str(a_finished_run().pk)]})
    assert queries_of(client, ADDRESS) == one
