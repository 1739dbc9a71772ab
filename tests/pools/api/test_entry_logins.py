"""Measuring the cost of logins through an entry, without any server; real logins are in tests/live."""

import uuid

import pytest

from pools.advice import login_cost
from pools.advice.login_cost import Login
from pools.models import Entry
from tests.callers import anonymous, bearer
from tests.pools.records import an_entry

pytestmark = pytest.mark.django_db
LOGIN = {"user": "app", "password": "given-secret"}


@pytest.fixture
def entry() -> Entry:
    """An entry that is not managed here."""
    return an_entry(name="orders")


def url_of(entry: Entry | None) -> str:
    return f"/api/v1/entries/{entry.pk if entry else uuid.uuid4()}/logins/"


def test_figures_are_answered_and_the_login_is_not(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def measured(*words: object, **login: str) -> tuple[list[Login], str]:
        asked.append((*words, login))
        return [Login("through the entry", 9.0, 2.0, 6.0, None)], "its server is not registered"

    monkeypatch.setattr(login_cost, "measure_entry", measured)
    answer = bearer("apply").post(url_of(entry), LOGIN, format="json")
    found = answer.json()
    assert (answer.status_code, found.pop("remedies") != []) == (200, True)
    one = {
        "way": "through the entry",
        "total_ms": 9.0,
        "client_cpu_ms": 2.0,
        "pooler_cpu_ms": 6.0,
        "tls_ms": None,
        "rest_ms": 1.0,
    }
    assert found == {"note": "its server is not registered", "logins": [one]}
    assert asked == [(entry, {**LOGIN, "database": ""})]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"password": "given-secret"}, {"user": ["This field is required."]}),
        ({**LOGIN, "role": "app"}, {"role": ["there is no such field: use user, password, database"]}),
    ],
    ids=["no user", "unknown field"],
)
def test_bad_input_is_named(entry: Entry, asked: dict[str, str], error: dict[str, list[str]]) -> None:
    answer = bearer("apply").post(url_of(entry), asked, format="json")
    assert (answer.status_code, answer.json()) == (400, error)


def test_an_entry_for_any_database_needs_one() -> None:
    answer = bearer("apply").post(url_of(an_entry(database="")), LOGIN, format="json")
    text = "name the database: this entry leads to whatever its clients name"
    assert (answer.status_code, answer.json()) == (400, {"database": [text]})


def test_it_needs_the_scope_apply_a_post_and_an_entry(entry: Entry) -> None:
    assert bearer("run").post(url_of(entry), LOGIN, format="json").status_code == 403
    assert anonymous().post(url_of(entry), LOGIN, format="json").status_code == 401
    assert bearer("read", "apply").get(url_of(entry)).status_code == 405
    assert bearer("apply").post(url_of(None), LOGIN, format="json").status_code == 404
