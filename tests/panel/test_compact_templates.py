"""Pages without the white space that lays templates out, and with the one that counts."""

import re
from unittest import mock
from uuid import UUID

import pytest
from django.template import Context, engines
from django.template.loader import get_template
from django.templatetags.i18n import BlockTranslateNode
from django.test.utils import override_script_prefix
from django.urls import NoReverseMatch

from core.lib.env import BASE_DIR
from panel.compact_templates import Loader
from tests.callers import person
from tests.panel import pseudo_locale

PAGE = """
<p>
    one {{ word }}
    two
</p>

    {% if word %}
        <b>three</b>
    {% endif %}
"""


def loaded(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    engine = engines["django"].engine
    return Loader(engine, [("django.template.loaders.filesystem.Loader", [tmp_path])]).get_template(name)


def rendered(tmp_path, name, text):
    return loaded(tmp_path, name, text).render(Context({"word": "a\n   b"}))


def test_lines_lose_their_indentation_and_values_stay(tmp_path):
    assert rendered(tmp_path, "page.html", PAGE) == "\n<p>\none a\n   b\ntwo\n</p>\n\n<b>three</b>\n\n"


TABLE = """<table>
    <tr>
        <td>
            {{ word }} <b>c</b>
            <i>d</i>
        </td>
        <td class="pd-number">
            e
        </td>
    </tr>
</table>
"""


def test_cells_of_tables_have_no_white_space_around_them(tmp_path):
    expected = '<table><tr><td>a\n   b <b>c</b>\n<i>d</i></td><td class="pd-number">\ne</td></tr></table>\n'
    assert rendered(tmp_path, "page.html", TABLE) == expected


@pytest.mark.parametrize("text", ["<pre>\n    a\n</pre>", "<textarea>\n    a\n</textarea>"])
def test_what_is_shown_as_it_is_keeps_its_spaces(tmp_path, text):
    assert rendered(tmp_path, "page.html", text) == text


@pytest.mark.parametrize("name", ["mail.txt", "run_export.html"])
def test_files_and_messages_stay_as_they_are(tmp_path, name):
    assert rendered(tmp_path, name, "<p>\n    a\n</p>") == "<p>\n    a\n</p>"


def test_a_part_of_a_template_is_compact_too():
    assert get_template("benchmarks/run_form.html").template.is_compact


TEXTS = """{% load i18n %}{% for n in numbers %}
{% translate "100 % of State" %} {% translate "State" as state %}{{ state }} {% translate word %}
{% blocktranslate trimmed with x=word %}
    on {{ x }}
{% endblocktranslate %}
{% blocktranslate asvar set %}100 % of {{ word }}, {{ nothing }}{% endblocktranslate %}{{ set }}{{ x }}
{% blocktranslate with word=n %}{{ word }} of {{ nothing }}{% endblocktranslate %}
{% blocktranslate trimmed count n=n %}
    {{ n }} pool of {{ word }}
{% plural %}
    {{ n }} pools of {{ word }}
{% endblocktranslate %}{% endfor %}"""


def test_texts_are_those_that_django_renders(tmp_path, monkeypatch):
    context = {"numbers": [1, 2, 3], "word": "a & b"}
    plain = engines["django"].engine.from_string(TEXTS)
    compact = loaded(tmp_path, "page.txt", TEXTS)  # no page: its white space stays
    assert compact.render(Context(context)) == plain.render(Context(context))
    pseudo_locale.speak(monkeypatch)
    assert compact.render(Context(context)) == plain.render(Context(context))
    assert "⟦" in compact.render(Context(context))


def test_what_to_look_up_is_worked_out_once(tmp_path):
    template = loaded(tmp_path, "page.html", TEXTS)
    with mock.patch.object(BlockTranslateNode, "render_token_list") as put_together:
        template.render(Context({"numbers": range(50), "word": "a"}))
    assert put_together.call_count == 0


@pytest.mark.django_db
def test_pages_have_no_lines_that_begin_with_many_spaces(client):
    client.force_login(person())
    assert not re.search(r"\n {8}", client.get("/pools/").content.decode())


ADDRESSES = """{% url 'pool-list' %} {% url 'pool-detail' pk %} {% url 'pool-detail' pk as there %}{{ there }}
{% url 'pool-detail' name as none %}[{{ none }}] {% url 'nowhere' as none %}[{{ none }}]
{% url 'nowhere' pk as none %}[{{ none }}]
{% url 'pool-detail' pk=pk %} {% url view pk %} {% url 'playbook-detail' name %}"""


@pytest.mark.parametrize("prefix", ["/", "/panel & more/"])
def test_addresses_are_those_that_django_renders(tmp_path, prefix):
    context = {"pk": UUID(int=7), "view": "pool-detail", "name": "idle-tax"}
    with override_script_prefix(prefix):
        expected = engines["django"].engine.from_string(ADDRESSES).render(Context(context))
        compact = loaded(tmp_path, "page.txt", ADDRESSES)
        assert compact.render(Context(context)) == expected
        assert compact.render(Context(context | {"pk": UUID(int=8)})) == expected.replace("0007", "0008")
    assert "/pools/00000000-0000-0000-0000-000000000007/" in expected


def test_an_address_that_there_is_not_is_an_error(tmp_path):
    with pytest.raises(NoReverseMatch):
        loaded(tmp_path, "page.txt", "{% url 'pool-detail' %}").render(Context())
    with pytest.raises(NoReverseMatch):
        loaded(tmp_path, "page.txt", "{% url 'nowhere' pk %}").render(Context({"pk": UUID(int=7)}))


def test_the_address_of_a_record_is_reversed_once_for_all_rows(tmp_path):
    rows = loaded(tmp_path, "page.html", "{% for pk in ids %}{% url 'pool-detail' pk %} {% endfor %}")
    ids = [UUID(int=number) for number in range(50)]
    rows.render(Context({"ids": ids[:1]}))
    with mock.patch("django.urls.resolvers.URLResolver._reverse_with_prefix") as reversed_again:
        assert rows.render(Context({"ids": ids})).split() == [f"/pools/{one}/" for one in ids]
    assert reversed_again.call_count == 0


BADGES = """{% for state in states %}{% include "includes/state.html" %}
{% include "includes/state.html" with reason="a & b" label=word %}
{% with reason=word %}{% include "includes/state.html" with label="" %}{% endwith %}{% endfor %}
{% include "includes/state.html" with state=nothing %}{% include "includes/state.html" with state=word %}"""


@pytest.mark.parametrize("paused", [True, False])
def test_badges_are_those_of_their_template(tmp_path, paused):
    context = {"states": ["applied", "failed", "odd"], "word": "<b>", "panel_is_paused": paused}
    compact = loaded(tmp_path, "page.txt", BADGES)
    assert compact.render(Context(context)) == engines["django"].engine.from_string(BADGES).render(Context(context))
    with mock.patch("django.template.engine.Engine.select_template") as included:
        compact.render(Context(context))
    assert included.call_count == 0


def test_each_page_asks_the_catalog_once_for_a_text(tmp_path):
    rows = loaded(tmp_path, "page.html", "{% load i18n %}{% for n in numbers %}{% translate 'State' %}{% endfor %}")
    for _page in range(2):
        with mock.patch("panel.compact_templates.gettext", side_effect=["Zustand"]) as asked:
            assert rows.render(Context({"numbers": range(3)})) == "ZustandZustandZustand"
        assert asked.call_count == 1


def test_no_template_changes_its_language_in_the_middle():
    texts = {path: path.read_text() for path in (BASE_DIR / "templates").rglob("*.html")}
    assert [path.name for path, text in texts.items() if "{% language" in text] == []
