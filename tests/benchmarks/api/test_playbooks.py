"""Playbooks over the API: those that come with the panel, and users' own."""

import pytest

from benchmarks.models import Playbook
from tests.benchmarks.experiments.test_playbook import SMALL
from tests.callers import anonymous, bearer, queries_of

URL = "/api/v1/playbooks/"


@pytest.fixture
def runner(db):
    return bearer("read", "run")


def test_the_built_in_ones_are_listed_first_and_read_whole(runner):
    rows = runner.get(URL).json()["results"]
    assert [row["name"] for row in rows] == ["burst", "idle-tax", "tuning", "app-pool", "reconnect"]
    found = runner.get(f"{URL}burst/").json()
    assert found["built_in"] is True
    assert list(found["axes"]) == ["clients", "endpoint"]
    assert found["published_scale"]["options"]["duration"] == 600
    assert found["needs"] == ["a PgBouncer with a configuration folder"]
    assert {arm["key"]: arm["published"]["tps"] for arm in found["arms"]}["150-pool97"] == 344.39
    idle = runner.get(f"{URL}idle-tax/").json()
    assert "max_connections of 1150 or more" in idle["needs"]


def test_one_of_ones_own_is_added_read_and_removed(runner):
    answer = runner.post(URL, {"toml": SMALL}, format="json")
    assert (answer.status_code, answer.json()["built_in"]) == (201, False)
    assert runner.get(f"{URL}small/").json()["toml"] == SMALL
    assert runner.delete(f"{URL}small/").status_code == 204
    assert runner.get(f"{URL}small/").status_code == 404
    assert not Playbook.objects.exists()


ATTACK = f"""{SMALL}
[[axes.profile]]
key = "replica"
profile = {{ session_replication_role = "replica" }}
"""


def test_server_settings_beyond_tuning_need_an_admin(runner):
    answer = runner.post(URL, {"toml": ATTACK}, format="json")
    assert answer.status_code == 403
    assert "session_replication_role: more than tuning" in str(answer.json())
    assert bearer("admin").post(URL, {"toml": ATTACK}, format="json").status_code == 201


def test_a_list_asks_as_often_for_three_as_for_one(runner):
    runner.post(URL, {"toml": SMALL}, format="json")
    first = queries_of(runner, URL)
    for name in ("second", "third"):
        runner.post(URL, {"toml": SMALL.replace('"small"', f'"{name}"')}, format="json")
    assert queries_of(runner, URL) == first


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({}, "toml", "required"),
        ({"toml": "name = "}, "toml", "not TOML"),
        ({"toml": SMALL.replace("[1, 10]", "{}")}, "toml", "line 11"),
        ({"toml": SMALL.replace('"small"', '"burst"')}, "toml", "is taken"),
        ({"toml": SMALL, "name": "small"}, "name", ""),
    ],
)
def test_bad_input_is_named(runner, asked, field, words):
    answer = runner.post(URL, asked, format="json")
    assert (answer.status_code, list(answer.json())) == (400, [field])
    assert words in str(answer.json())


def test_who_may_not_wrong_methods_and_what_is_not_there(runner):
    reader = bearer("read")
    for client, status in ((anonymous(), 401), (reader, 403)):
        assert client.post(URL, {"toml": SMALL}, format="json").status_code == status
        assert client.delete(f"{URL}burst/").status_code == status
    assert anonymous().get(URL).status_code == 401
    assert reader.get(f"{URL}nothing/").status_code == 404
    assert runner.delete(f"{URL}nothing/").status_code == 404
    assert runner.delete(f"{URL}burst/").status_code in (400, 409)
    assert runner.put(f"{URL}burst/", {}, format="json").status_code == 405
    assert runner.patch(URL, {}, format="json").status_code == 405


DEEP = 2000


@pytest.mark.parametrize(
    "said",
    [
        f"deep = {'[' * DEEP}{']' * DEEP}",
        f"deep = {'{a = ' * DEEP}1{'}' * DEEP}",
        f"{'.'.join('a' * DEEP)} = 1",
        f"[{'.'.join('a' * DEEP)}]",
        f"big = {'9' * 5000}",
        r'nul = "\u0000"',
        r'"\U00000000" = 1',
        "figure = nan",
        "figure = [-inf]",
        "when = 1979-05-27T07:32:00Z",
        "\x00",
    ],
    ids=lambda said: said[:12].replace("\0", "NUL"),
)
def test_no_text_is_a_server_error(runner, said):
    for text in (SMALL.replace("[options]", f"[options]\n{said}"), said):
        answer = runner.post(URL, {"toml": text}, format="json")
        assert answer.status_code in (201, 400), answer.content
    assert runner.get(URL).status_code == 200


def test_a_matrix_of_millions_of_arms_is_refused_before_it_is_built(runner):
    axes = "\n".join(f"{name} = {list(range(20))}" for name in ("clients", "threads", "duration", "scale"))
    answer = runner.post(URL, {"toml": SMALL.replace("clients = [1, 10]", axes)}, format="json")
    assert (answer.status_code, "320000 arms are too many" in answer.content.decode()) == (400, True)
