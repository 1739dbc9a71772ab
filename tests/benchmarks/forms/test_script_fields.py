"""The part of a run's form that chooses scripts: one of the library, a mix by weight, texts of its own, variables."""

import pytest

from benchmarks.forms.runs import RunForm, initial_of
from benchmarks.forms.script_fields import read, written
from benchmarks.library.scripts import library
from tests.benchmarks.records import a_run, the_options
from tests.callers import of_an_admin

pytestmark = pytest.mark.django_db
TYPED = {"route": "direct", "clients": "2", "threads": "1", "duration": "5"}


@pytest.fixture
def version():
    return library.newest(library.create(name="orders", text="SELECT 1;"))


def chosen(**typed):
    """The form as it was posted, checked."""
    form = RunForm(TYPED | typed, access=of_an_admin())
    form.is_valid()
    return form


def scripts_of(form):
    options = form.cleaned_data["options"]
    return options["builtin"], options["scripts"]


def test_one_of_pgbenchs_own_stays_as_it_was():
    assert scripts_of(chosen(builtin="tpcb-like")) == ("tpcb-like", None)
    assert scripts_of(chosen()) == ("select-only", None)


def test_one_of_the_library_runs_alone(version):
    form = chosen(builtin=f"version:{version.pk}")
    assert scripts_of(form) == (None, [{"text": "SELECT 1;", "weight": 1, "name": "orders", "version": 1}])


def test_rows_take_the_place_of_the_one_above(version):
    form = chosen(
        builtin="select-only",
        mix_0_value="tpcb-like",
        mix_0_weight="2",
        mix_1_value=f"version:{version.pk}",
        mix_1_weight="7",
        mix_3_text="SELECT 3;\r\nSELECT 4;",
    )
    assert scripts_of(form) == (
        "tpcb-like@2",
        [
            {"text": "SELECT 1;", "weight": 7, "name": "orders", "version": 1},
            {"text": "SELECT 3;\nSELECT 4;", "weight": 1, "name": "", "version": None},
        ],
    )
    assert form.mix_is_open


def test_a_refused_text_stands_beside_its_row_and_stays():
    text = "SELECT 1;\nSELECT 1 \\shell echo"
    form = chosen(mix_2_text=text)
    assert form.errors["mix_2_text"][0].startswith("line 2 ('SELECT 1 \\shell echo'): \\shell starts a program")
    assert form["mix_2_text"].value() == text
    assert "__all__" not in form.errors
    assert "options" not in form.cleaned_data


def test_a_row_with_a_script_and_a_text_is_refused():
    form = chosen(mix_0_value="select-only", mix_0_text="SELECT 1;")
    assert form.errors["mix_0_text"] == ["this row has a chosen script and a text: leave one of them empty"]


def test_variables_are_lines():
    form = chosen(variables="rows = 10\nshare=0.5\n\ncity = 'Oslo'")
    assert form.cleaned_data["options"]["variables"] == {"rows": 10, "share": 0.5, "city": "Oslo"}
    assert chosen(variables="rows").errors["variables"] == [
        "line 1 is 'rows': write a name, =, and a number or text in quotes"
    ]
    assert chosen(variables="n = 1\ncity = Oslo").errors["variables"] == [
        "line 2: 'Oslo' is not a number: put text in single quotes"
    ]


@pytest.mark.parametrize("variables", [{"a": 1, "b": -0.5, "c": "it's 'quoted'"}, {"a": "= 5"}, {}])
def test_what_is_written_reads_back(variables):
    assert read(written(variables)) == variables


def test_a_run_of_one_script_is_cloned_above_the_rows(version):
    options = the_options(scripts=[{"text": "SELECT 1;", "name": "orders", "version": 1}], variables={"n": 5})
    form = RunForm(initial=initial_of(a_run(options=options)), access=of_an_admin())
    assert form["builtin"].value() == f"version:{version.pk}"
    assert form["variables"].value() == "n = 5"
    assert form.mix_is_open


def test_a_mix_is_cloned_into_rows_even_where_the_library_lost_a_script(version):
    texts = [{"text": "SELECT 1;", "weight": 3, "name": "orders", "version": 1}, {"text": "SELECT 9;", "name": "gone"}]
    options = the_options(builtin=["select-only@4", "tpcb-like"], scripts=texts)
    form = RunForm(initial=initial_of(a_run(options=options)), access=of_an_admin())
    rows = [(script.value() or None, weight.value(), text.value()) for script, weight, text in form.mix]
    assert rows == [
        ("select-only", "4", None),
        ("tpcb-like", "1", None),
        (f"version:{version.pk}", "3", None),
        (None, "1", "SELECT 9;"),
        (None, "1", None),
        (None, "1", None),
    ]
    assert form["builtin"].value() is None


def test_as_many_rows_come_back_as_were_shown():
    assert chosen(mix_rows="9", mix_8_value="select-only").rows == 9
    assert chosen(mix_rows="999").rows == 128
    assert chosen(mix_rows="x").rows == 4
