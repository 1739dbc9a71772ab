"""Pages that refuse: they say what was wrong, and who or what puts it right."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.callers import person
from tests.pages import page_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def strict() -> Client:
    """A browser whose forms need the token that the page had."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("ann"))
    return client


def test_a_form_of_before_a_login_says_to_reload_the_page(strict: Client) -> None:
    answer = strict.post("/clusters/new/", {"name": "x"})
    page = page_of(answer)
    assert (answer.status_code, "reload the page and send the form again" in page) == (403, True)
    assert "POOLDECK_TRUSTED_ORIGINS" not in page


def test_a_form_of_another_origin_names_the_setting(strict: Client) -> None:
    answer = strict.post("/clusters/new/", {"name": "x"}, headers={"Origin": "https://panel.example.org"})
    assert (answer.status_code, "POOLDECK_TRUSTED_ORIGINS" in page_of(answer)) == (403, True)


def test_a_refusal_names_what_only_administrators_may_do(client: Client) -> None:
    client.force_login(person(staff=False))
    page = page_of(client.get("/ceilings/new/"))
    assert "Only administrators may do this" in page


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_refusal_names_the_role_that_is_needed(client: Client, method: str) -> None:
    client.force_login(person(staff=False))
    page = page_of(getattr(client, method)("/clusters/new/"))
    assert "This needs the role owner in a team: an owner of the team or an administrator can give it" in page
    assert "staff" not in page


def test_a_host_name_that_is_not_served_is_named_with_the_setting(client: Client) -> None:
    answer = client.get("/login/", headers={"Host": "<panel>.example.org"})
    page = page_of(answer)
    assert (answer.status_code, "POOLDECK_ALLOWED_HOSTS" in page) == (400, True)
    assert "'&lt;panel&gt;.example.org'" in answer.content.decode().replace("&#x27;", "'")
    told = client.get("/api/v1/pools/", headers={"Host": "panel.example.org"})
    assert "'panel.example.org'" in told.json()["detail"]
