"""Pages that refuse: they say what was wrong, and who or what puts it right."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

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


def test_staff_is_told_what_only_superusers_may_do(client: Client) -> None:
    client.force_login(User.objects.create_user("eve", is_staff=True))
    page = page_of(client.get("/ceilings/new/"))
    assert "Only superusers may set run limits: they hold for staff" in page
    assert "can view, but not change" not in page


def test_a_host_name_that_is_not_served_is_named_with_the_setting(client: Client) -> None:
    answer = client.get("/login/", headers={"Host": "<panel>.example.org"})
    page = page_of(answer)
    assert (answer.status_code, "POOLDECK_ALLOWED_HOSTS" in page) == (400, True)
    assert "'&lt;panel&gt;.example.org'" in answer.content.decode().replace("&#x27;", "'")
    told = client.get("/api/v1/pools/", headers={"Host": "panel.example.org"})
    assert "'panel.example.org'" in told.json()["detail"]
