"""What both apps' APIs share: sessions in the browser, paging, and errors as answers."""

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from rest_framework.test import APIClient

from benchmarks.errors import QueueDown
from core.rest.errors import handle_exception
from pools.errors import InvalidValues, Stale
from tests.callers import anonymous, bearer, person
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler

pytestmark = pytest.mark.django_db
TOKENS = "/api/v1/tokens/"
BODY = {"name": "made in the browser", "scopes": ["read"]}


def test_a_session_reads_and_writes_with_a_csrf_token_only():
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(person())
    assert client.get(TOKENS).status_code == 200
    forged = client.post(TOKENS, BODY)
    assert (forged.status_code, forged.json()) == (403, {"detail": "CSRF Failed: CSRF cookie not set."})
    client.get("/tokens/")  # a page with a form sets the cookie
    token = client.cookies["csrftoken"].value
    assert client.post(TOKENS, BODY, headers={"X-CSRFToken": token}).status_code == 201


def test_a_session_that_is_not_staff_reads_only():
    client = Client()
    client.force_login(person(staff=False))
    assert client.get("/api/v1/pools/").status_code == 200
    assert client.get(TOKENS).status_code == 403
    assert client.post("/api/v1/pools/", {}).status_code == 403


def test_domain_errors_answer_with_their_fields_or_their_message():
    fields = handle_exception(InvalidValues({"size": ["too much"]}), {})
    assert (fields.status_code, fields.data) == (400, {"size": ["too much"]})
    stale = handle_exception(Stale("changed meanwhile"), {})
    assert (stale.status_code, stale.data) == (409, {"detail": "changed meanwhile"})
    assert handle_exception(QueueDown("redis is gone"), {}).status_code == 503
    assert handle_exception(KeyError("ours"), {}) is None


def test_a_lost_key_is_said_and_not_a_crash(settings):
    cluster = make_cluster()
    cluster.keep_password("app", "secret")
    pool = make_pool(cluster, make_pooler(), user="app")
    settings.POOLDECK_KEYS = [Fernet.generate_key().decode()]
    answer = bearer().get(f"/api/v1/pools/{pool.pk}/connection/", {"reveal": "1"})
    assert answer.status_code == 503
    assert "POOLDECK_KEYS" in answer.json()["detail"]


def test_a_body_that_is_no_json_is_bad_input():
    answer = bearer().generic("POST", TOKENS, b"{", content_type="application/json")
    assert (answer.status_code, list(answer.json())) == (400, ["detail"])
    assert bearer().generic("POST", TOKENS, b"name=x", content_type="text/plain").status_code == 415


@pytest.mark.parametrize("body", [b'{"name": "\\ud800"}', b'{"\\udfff": 1}'])
def test_half_a_surrogate_pair_is_bad_input(body):
    answer = bearer().generic("POST", TOKENS, body, content_type="application/json")
    assert answer.status_code == 400
    assert "surrogate" in answer.json()["detail"]


@pytest.mark.parametrize("query", ["page=0", "page=x", "page=2"])
def test_a_page_that_is_not_there_is_404(query):
    assert bearer().get(f"/api/v1/pools/?{query}").status_code == 404


def test_an_address_that_is_not_there_is_json_under_the_api():
    answer = bearer().get("/api/v1/nothing/")
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("there is nothing at /api/v1/nothing/")
    assert bearer().get("/api/v1/pools").headers["Location"] == "/api/v1/pools/"
    assert Client().get("/nothing/")["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("search", ["w " * 1000, "word " * 11, "x" * 201], ids=["1000 words", "11 words", "long"])
def test_a_search_that_no_query_can_carry_is_bad_input(search: str):
    answer = bearer("read").get("/api/v1/pools/", {"search": search})
    assert (answer.status_code, list(answer.json())) == (400, ["search"])
    assert "at most 10 words and 200 characters" in answer.json()["search"][0]


def test_a_search_of_ten_words_is_answered():
    assert bearer("read").get("/api/v1/pools/", {"search": "word " * 10}).status_code == 200


@pytest.mark.parametrize("levels", [33, 900, 100_000])
def test_a_body_nested_deeper_than_anything_needs_is_bad_input(levels: int):
    body = b'{"name": ' + b"[" * levels + b"]" * levels + b"}"
    answer = bearer().generic("POST", TOKENS, body, content_type="application/json")
    assert (answer.status_code, list(answer.json())) == (400, ["detail"])
    assert "deeper than 32 levels" in answer.json()["detail"]


def test_no_answer_of_the_api_and_of_a_form_is_kept_by_a_cache():
    answers = [bearer().get(TOKENS), bearer().post(TOKENS, BODY), anonymous().get(TOKENS)]
    assert [answer.headers["Cache-Control"] for answer in answers] == ["no-store"] * 3
    assert Client().post("/login/", {}).headers["Cache-Control"].find("no-store") >= 0


def test_every_answer_turns_off_what_no_page_uses():
    for address in ("/login/", "/healthz/live", TOKENS):
        assert "camera=()" in Client().get(address).headers["Permissions-Policy"]
