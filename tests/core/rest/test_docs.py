"""The API's description and its pages."""

import re

import pytest
from django.core.management import call_command
from django.test import Client
from openapi_spec_validator import validate

from tests.callers import anonymous, bearer, person
from tests.panel.test_authorization import API

pytestmark = pytest.mark.django_db


def test_the_description_is_valid_openapi():
    answer = bearer("read").get("/api/schema/?format=json")
    assert answer.status_code == 200
    validate(answer.json())


def test_every_address_of_the_api_is_described():
    described = bearer("read").get("/api/schema/?format=json").json()["paths"]
    shapes = {re.sub(r"{[^}]+}", "*", path) for path in described}
    assert {re.sub(r"/(?:[0-9a-f-]{36}|word|1)(?=/)", "/*", address) for address in API} == shapes


def test_the_description_is_complete(tmp_path):
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "schema.yaml"))
    assert (tmp_path / "schema.yaml").stat().st_size > 1000


def test_the_pages_carry_no_inline_script_or_style_and_keep_the_policy():
    client = Client()
    client.force_login(person())
    page = client.get("/api/docs/")
    assert page.status_code == 200
    assert b"<style" not in page.content
    assert b"<script>" not in page.content
    assert "unsafe" not in page["Content-Security-Policy"]
    script = client.get("/api/docs/?script=")
    assert script["Content-Type"] == "application/javascript"
    assert b"SwaggerUIBundle" in script.content


def test_strangers_are_led_to_the_login_or_refused():
    assert anonymous().get("/api/docs/").headers["Location"] == "/login/?next=/api/docs/"
    assert anonymous().get("/api/schema/").status_code == 401


def test_the_page_of_the_api_answers_get_alone():
    assert bearer("read").options("/api/docs/").status_code == 405
