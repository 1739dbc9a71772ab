"""Options that the program lacks are left out of the form, with the reason, and refused by name where they are sent."""

import pytest
from django.test import Client

from benchmarks.engines.pgbench.options import fields_for
from benchmarks.forms.unsupported_options import parted, why
from benchmarks.models import Generator
from tests.callers import bearer, person
from tests.pages import page_of
from tests.pools.records import a_cluster


def names(version: tuple[int, int] | None, reported: tuple[str, ...] = ()) -> set[str]:
    return {field.name for field in parted(fields_for("load"), version, reported)[1]}


def test_what_is_younger_than_the_program_is_lacked():
    assert names((19, 0)) == set()
    assert names((18, 4)) == {"continue_on_error"}
    assert names((16, 2)) == {"continue_on_error", "exit_on_abort"}
    assert names((9, 6)) >= {"random_seed", "max_tries", "failures_detailed"}
    assert "percentiles" not in names((9, 6))


def test_nothing_is_lacked_by_a_program_that_is_not_known_nor_of_what_was_said():
    assert names(None) == set()
    assert names((16, 2), ("exit_on_abort",)) == {"continue_on_error"}


def test_the_reason_names_options_and_releases():
    lacked = parted(fields_for("load"), (16, 2))[1]
    options = "--exit-on-abort (17), --continue-on-error (19)"
    expected = f"Not available in pgbench 16.2, which would execute the run: {options}."
    assert why("pgbench", (16, 2), lacked) == expected
    assert why("pgbench", (19, 0), ()) == ""


@pytest.fixture
def old_generator(db: None) -> Generator:
    return Generator.objects.create(name="old", engines={"pgbench": "12.22"})


@pytest.mark.usefixtures("old_generator")
@pytest.mark.parametrize(
    ("page", "name", "flag"),
    [("/runs/new/", "max_tries", "--max-tries (15)"), ("/datasets/new/", "partitions", "--partitions (13)")],
)
def test_the_form_leaves_it_out_and_says_why(client: Client, page: str, name: str, flag: str):
    client.force_login(person())
    shown = page_of(client.get(page))
    assert f'name="{name}"' not in shown
    assert "Not available in pgbench 12.22, which would execute the run: " in shown
    assert flag in shown


@pytest.mark.usefixtures("old_generator")
def test_the_api_refuses_it_by_name():
    body = {"target": {"cluster": str(a_cluster().pk), "database": "shop"}, "options": {"max_tries": 3}}
    answer = bearer("read", "run").post("/api/v1/runs/", body, format="json")
    assert (answer.status_code, answer.json()) == (
        400,
        {"options": {"max_tries": ["--max-tries needs pgbench 15 or newer; this one is 12.22"]}},
    )
