"""Pages without the white space that lays templates out, and with the one that counts."""

import re

import pytest
from django.template import Context, engines
from django.template.loader import get_template

from panel.compact_templates import Loader
from tests.callers import person

PAGE = """
<p>
    one {{ word }}
    two
</p>

    {% if word %}
        <b>three</b>
    {% endif %}
"""


def rendered(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    engine = engines["django"].engine
    loader = Loader(engine, [("django.template.loaders.filesystem.Loader", [tmp_path])])
    return loader.get_template(name).render(Context({"word": "a\n   b"}))


def test_lines_lose_their_indentation_and_values_stay(tmp_path):
    assert rendered(tmp_path, "page.html", PAGE) == "\n<p>\none a\n   b\ntwo\n</p>\n\n<b>three</b>\n\n"


@pytest.mark.parametrize("text", ["<pre>\n    a\n</pre>", "<textarea>\n    a\n</textarea>"])
def test_what_is_shown_as_it_is_keeps_its_spaces(tmp_path, text):
    assert rendered(tmp_path, "page.html", text) == text


@pytest.mark.parametrize("name", ["mail.txt", "run_export.html"])
def test_files_and_messages_stay_as_they_are(tmp_path, name):
    assert rendered(tmp_path, name, "<p>\n    a\n</p>") == "<p>\n    a\n</p>"


def test_a_part_of_a_template_is_compact_too():
    assert get_template("benchmarks/run_form.html").template.is_compact


@pytest.mark.django_db
def test_pages_have_no_lines_that_begin_with_many_spaces(client):
    client.force_login(person())
    assert not re.search(r"\n {8}", client.get("/pools/").content.decode())
