"""The texts of scripts come as a script of their own, which browsers keep."""

from django.test import Client


def test_the_catalog_is_a_script_that_strangers_get_and_browsers_keep() -> None:
    answer = Client().get("/texts.js")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/javascript")
    assert answer["Cache-Control"] == "public, max-age=3600"
    assert b"gettext" in answer.content
