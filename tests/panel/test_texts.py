"""Every text that a person reads passes gettext, so that a catalog in `locale/` can translate it."""

import ast
import re
from pathlib import Path

import pytest

from tests.panel import python_texts, template_texts

ROOT = Path(__file__).resolve().parent.parent.parent
# run by themselves, or read on a terminal
NOT_PAGES = ["migrations", "quickstart", "management", "load_programs"]

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MODULES = [
    path
    for room in ("core", "panel", "pools", "benchmarks")
    for path in sorted((ROOT / room).rglob("*.py"))
    if not set(NOT_PAGES) & set(path.parts)
]
SCRIPTS = sorted((ROOT / "static" / "js").rglob("*.js"))
IS_NO = re.compile(r"(?<!here )\b(?:is|are) no (?!longer\b)")  # “is no port”, for “is not a port: enter …”


def strings_of(code: str) -> list[str]:
    """Return the string literals of Python code without its docstrings."""
    tree = ast.parse(code)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    literals = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return [node.value for node in literals if isinstance(node.value, str)]


@pytest.mark.parametrize("folder", sorted({path.parent for path in TEMPLATES}), ids=lambda path: path.name)
def test_texts_of_templates_pass_gettext(folder: Path) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{text}"
        for path in TEMPLATES
        if path.parent == folder
        for text in template_texts.untranslated(path.read_text())
    ]
    assert found == [], "\n".join(found)


def test_a_message_says_what_a_value_is_not_in_whole_words() -> None:
    """“x is no port” is not English of the field: “x is not a port: enter a number from 1 to 65535”."""
    code = [path for room in ("core", "panel", "pools", "benchmarks") for path in sorted((ROOT / room).rglob("*.py"))]
    suspects = {path: text for path in (*code, *TEMPLATES, *SCRIPTS) if IS_NO.search(text := path.read_text())}
    found = [
        f"{path.relative_to(ROOT)}: {one}"
        for path, text in suspects.items()
        for one in (strings_of(text) if path.suffix == ".py" else text.splitlines())
        if IS_NO.search(one)
    ]
    assert found == [], "\n".join(found)


def test_no_sentence_of_a_template_is_made_of_two_texts() -> None:
    templates = {str(path.relative_to(ROOT / "templates")): path.read_text() for path in TEMPLATES}
    found = template_texts.halves(templates)
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("room", sorted({path.relative_to(ROOT).parts[0] for path in MODULES}))
def test_texts_of_the_code_pass_gettext(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in MODULES
        if path.is_relative_to(ROOT / room)
        for line, text in python_texts.untranslated(path.read_text(), is_api="api" in path.parts or path.stem == "api")
    ]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("<p>\n  Two words</p>", ["2: Two words"]),
        ("<p>{{ n }} pools</p>", ["1: … pools"]),
        ('<a title="Two words">–</a>', ['1: title="Two words"']),
        ("{{ name|default:'not known' }}", ["1: …not known"]),
        ("{{ n }} {% translate 'pools' %}{{ n|pluralize }}", ["1: … ……pluralize"]),
        ('{% include "x.html" with heading="Nothing" class="a b" %}', ['1: heading="Nothing"']),
        ('{% include "x.html" with heading=_("Nothing") %}', []),
        ('{% when run.ended_at "not yet" %}{% when run.ended_at _("not yet") %}', ['1: "not yet"']),
        ("<p>{% blocktranslate %}Two <b>words</b>{% endblocktranslate %}{% translate 'More' as more %}</p>", []),
        ("<p>{{ ms }} ms, p99 <code>SHOW POOLS</code> <i translate='no'>as <i>it</i> is</i> PgBouncer</p>", []),
        ('{% comment %}Two words{% endcomment %}{# more #}<p class="two words" data-x="{% url "x" %}">1</p>', []),
        ("<{% if a %}div{% else %}label{% endif %} class='x'>1</{% if a %}div{% else %}label{% endif %}>", []),
    ],
)
def test_a_text_of_a_template_is_found(template: str, found: list[str]) -> None:
    assert [str(text) for text in template_texts.untranslated(template)] == found


@pytest.mark.parametrize(
    ("including", "included", "parts"),
    [
        ('{% include "x" with what=_("the token") %}', "{% blocktranslate %}Copy {{ what }}{% endblocktranslate %}", 1),
        (
            '{% translate "role" as noun %}{% include "x" %}',
            "{% blocktrans %}No {{ noun }} is left{% endblocktrans %}",
            1,
        ),
        ("", '{% translate "role" as n %}{% blocktranslate with x=n %}No {{ x }}.{% endblocktranslate %}', 1),
        ('{% include "x" with what=what %}', "{% blocktranslate %}Copy {{ what }}{% endblocktranslate %}", 0),
        (
            '{% include "x" with what=_("the token") %}',
            "{% blocktranslate %}Copy: {{ what }}{% endblocktranslate %}",
            0,
        ),
        ('{% include "x" with what=_("Traffic") %}', "{% blocktranslate %}Save “{{ what }}”{% endblocktranslate %}", 0),
        (
            '{% translate "role" as n %}{% include "x" with n=name %}',
            "{% blocktrans %}No {{ n }}{% endblocktrans %}",
            0,
        ),
    ],
)
def test_a_sentence_made_of_two_texts_is_found(including: str, included: str, parts: int) -> None:
    assert len(template_texts.halves({"it": including, "x": included})) == parts


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("CharField(label='Name', help_text=_('A name'))", ["'Name'"]),
        ("raise ValidationError({'name': f'there is no {x}'})", ["f'there is no {x}'"]),
        ("messages.success(request, 'It ' + what)", []),
        ("messages.success(request, 'It is gone: ' + what)", ["'It is gone: '"]),
        ("_(f'there is no {x}')", ["f'there is no {x}'"]),
        (
            "class S(TextChoices):\n    ON = 'on', 'switched on'\n    OFF = 'off', _('off')\n    NO = 'no', 'no'\n"
            "    IT = 'it', 'Pgpool-II'",
            ["'switched on'"],
        ),
        ("from pools.errors import PoolsError\nraise PoolsError('the pool is gone')", ["'the pool is gone'"]),
        ("logger.error('the pool is gone'); raise ValidationError(_('%(n)s is gone') % {'n': n}, code='x')", []),
    ],
)
def test_a_text_of_the_code_is_found(source: str, found: list[str]) -> None:
    assert [text for _, text in python_texts.untranslated(source)] == found
