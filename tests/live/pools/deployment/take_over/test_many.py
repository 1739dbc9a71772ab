"""Twenty PgBouncers, pasted, watched, taken over by one consent and let go, with clients at work on each."""

import time
from collections.abc import Callable

import pytest
from django.test import Client

from core.lib.polling import poll
from panel.quickstart.servers import binary
from pools.deployment import take_overs
from pools.deployment.pgbouncer.steps import STEPS
from pools.models import Cluster, Pooler, TakeOver, TakeOverState
from tests.callers import bearer, person
from tests.live.pools.deployment.take_over.conftest import CONSOLE, Load, OperatorsPgBouncer, Start
from tests.live.pools.deployment.take_over.layouts import FORCED, KEPT, PLAIN, POOL, SCRAM, USERS, Layout, main

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
COUNT = 20
LAYOUT = Layout(
    "tier",
    {"pgbouncer.ini": main(f"app = {FORCED}\nreports = {PLAIN}\n* = host=@PGHOST@", SCRAM), "userlist.txt": USERS},
    {"app": POOL, "reports": POOL, "*": KEPT},
)


@pytest.fixture
def tier(start: Start, request: pytest.FixtureRequest) -> list[OperatorsPgBouncer]:
    """Twenty PgBouncers of one layout, of three releases."""
    others = [str(request.getfixturevalue(one)) for one in ("trixie_pgbouncer", "sid_pgbouncer")]
    programs = [binary("pgbouncer"), *others]
    return [start(LAYOUT, programs[number % len(programs)]) for number in range(COUNT)]


@pytest.fixture
def browser(db: None) -> Client:
    """A member of the staff, without JavaScript."""
    client = Client()
    client.force_login(person())
    return client


def pressed(answer: object) -> dict[str, list[str]]:
    """Return the fields that the form of the previews would send."""
    rows = answer.context["rows"]  # type: ignore[attr-defined]
    sent: dict[str, list[str]] = {"pooler": [], "shown": []}
    for row in rows:
        pk = str(row["pooler"].pk)
        sent["shown"].append(pk)
        if not row["plan"].blockers:
            sent["pooler"].append(pk)
            sent[f"file-{pk}"] = [row["config_file"]]
            sent[f"entries-{pk}"] = [one.name for one in row["pools"]]
    return sent


def test_twenty_are_pasted_watched_taken_over_in_one_go_and_let_go(
    cluster: Cluster, tier: list[OperatorsPgBouncer], browser: Client, load: Callable[[OperatorsPgBouncer], Load]
) -> None:
    before = [one.bytes_of_all() for one in tier]
    shown = [one.shown() for one in tier]
    work = [load(one) for one in tier]
    for one in work:
        poll(lambda one=one: (len(one.clients()) == 3, None), 20)
    clients = [one.clients() for one in work]
    assert [len(one) for one in clients] == [3] * COUNT

    began = time.monotonic()
    lines = "\n".join(f"{one.host}:{one.port}" for one in tier)
    form = {"lines": lines, "kind": "pgbouncer", "admin_user": CONSOLE[0], "admin_password": CONSOLE[1]}
    outcomes = browser.post("/poolers/paste/", form).context["outcomes"]  # first click
    assert [(one.state, one.entries) for one in outcomes] == [("watched", 2)] * COUNT  # SHOW DATABASES has no *
    watched = time.monotonic()

    query = {"pooler": [str(one.pooler.pk) for one in outcomes], "whole": "1"}
    previews = browser.get("/poolers/take-over/", query)  # second click
    assert [[one.name for one in row["pools"]] for row in previews.context["rows"]] == [["app", "reports"]] * COUNT
    assert [row["plan"].blockers for row in previews.context["rows"]] == [[]] * COUNT
    assert "app-password" not in previews.content.decode()
    assert [one.bytes_of_all() for one in tier] == before  # nothing before consent
    previewed = time.monotonic()

    browser.post("/poolers/take-over/", pressed(previews))  # third click
    for asked in TakeOver.objects.filter(state=TakeOverState.ASKED):
        STEPS.resume(asked.pooler)
    taken = time.monotonic()
    assert [(one.state, one.reason) for one in TakeOver.objects.all()] == [(TakeOverState.TAKEN, "")] * COUNT
    assert [one.shown() for one in tier] == shown
    page = browser.get("/poolers/take-over/", query).content.decode()
    assert page.count("managed") >= COUNT
    print(
        f"{COUNT} PgBouncers: 3 clicks; watched in {watched - began:.1f} s, previewed in {previewed - watched:.1f} s, "
        f"taken over in {taken - previewed:.1f} s by one worker process; {(taken - began) / 60:.1f} minutes in all"
    )

    query = {"pooler": [str(pooler.pk) for pooler in Pooler.objects.all()], "whole": "1"}
    releases = browser.get("/poolers/let-go/", query)
    assert [len(row["release"].pools) for row in releases.context["rows"]] == [2] * COUNT
    assert "app-password" not in releases.content.decode()
    browser.post("/poolers/let-go/", {"pooler": query["pooler"]})  # The form was not confirmed.
    assert not TakeOver.objects.filter(state=TakeOverState.LEAVING).exists()
    began = time.monotonic()
    browser.post("/poolers/let-go/", {"pooler": query["pooler"], "confirm": "yes"})
    for leaving in TakeOver.objects.filter(state=TakeOverState.LEAVING):
        take_overs.resume(leaving.pooler)
    print(f"let go in {time.monotonic() - began:.1f} s by one worker process")
    page = browser.get("/poolers/let-go/", query).content.decode()
    assert page.count("watched") >= COUNT
    assert [(one.state, one.reason) for one in TakeOver.objects.all()] == [(TakeOverState.RELEASED, "")] * COUNT
    assert [one.bytes_of_all() for one in tier] == before
    assert [one.shown() for one in tier] == shown
    assert [one.clients() for one in work] == clients
    assert [one.end() for one in work] == [""] * COUNT


def test_a_script_does_the_same_by_the_api(cluster: Cluster, start: Start) -> None:
    tier = [start(LAYOUT), start(LAYOUT)]
    api = bearer()
    form = {"lines": "\n".join(f"{one.host}:{one.port}" for one in tier), "admin_user": CONSOLE[0]}
    found = api.post("/api/v1/poolers/watch/", {**form, "admin_password": CONSOLE[1]}).json()["results"]
    for one in found:
        url = f"/api/v1/poolers/{one['pooler']}/take-over/"
        assert api.post(url, {"dry_run": True}, format="json").json()["blockers"] == []
        assert api.post(url, {}, format="json").status_code == 202
    for asked in TakeOver.objects.all():
        STEPS.resume(asked.pooler)
    assert {one["management"] for one in api.get("/api/v1/poolers/").json()["results"]} == {"managed"}
