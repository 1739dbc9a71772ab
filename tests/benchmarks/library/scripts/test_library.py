"""The library of scripts: names, versions that stay, the gate before each, and the texts that runs carry away."""

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from benchmarks.errors import InvalidOptions
from benchmarks.library.scripts import library
from benchmarks.library.scripts.library import InvalidScript
from benchmarks.models import Script, ScriptVersion
from benchmarks.runs.submission import options
from core.accounts.access import Access
from core.accounts.models import Role, Team
from tests.callers import person

pytestmark = pytest.mark.django_db
REFUSED = "SELECT 1;\nSELECT 1 \\shell echo"


def versions_of(script):
    return list(script.versions.order_by("number").values_list("number", "text"))


def test_another_text_is_the_next_version_and_the_same_is_none():
    author = person()
    script = library.create(name="orders", text="SELECT 1;", author=author)
    library.change(script, text="SELECT 2;", author=author)
    library.change(script, text="SELECT 2;", name="orders v2", description="of the shop", author=author)
    assert versions_of(script) == [(1, "SELECT 1;"), (2, "SELECT 2;")]
    assert (script.name, script.description) == ("orders v2", "of the shop")
    assert library.newest(script).author == author


def test_the_log_says_who_did_what_to_a_script(caplog):
    author = person()
    with caplog.at_level("INFO", "benchmarks.library.scripts.library"):
        script = library.create(name="orders", text="SELECT 1;", author=author)
        library.change(script, text="SELECT 2;", author=author)
        library.change(script, name="sales", author=author)
        library.change(script, text="SELECT 2;", author=author)
        key = script.pk
        library.remove(script, author=author)
    assert not Script.objects.exists()
    assert [record.getMessage() for record in caplog.records] == [
        f"script {key}: version 1 of 'orders' was written by {author}",
        f"script {key}: version 2 of 'orders' was written by {author}",
        f"script {key}: 'orders', now 'sales', was renamed or described by {author}",
        f"script {key}: 'sales' with its 2 versions was deleted by {author}",
    ]


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"name": ""}, "name", "a name has 1 to 100 printable characters: enter it"),
        ({"name": "a\nb"}, "name", "a name has 1 to 100 printable characters: enter it"),
        ({"name": "taken"}, "name", "there is a script taken already: choose another name"),
        ({"description": "x" * 501}, "description", "a description has at most 500 characters and no NUL"),
    ],
)
def test_what_can_not_be_kept_is_refused_with_nothing_saved(given, field, message):
    library.create(name="taken", text="SELECT 1;")
    with pytest.raises(InvalidScript) as refused:
        library.create(**{"name": "new", "text": "SELECT 1;"} | given)
    assert refused.value.errors == {field: [message]}
    assert Script.objects.count() == 1


def test_a_refused_text_names_its_line_and_leaves_the_script_as_it_was():
    script = library.create(name="orders", text="SELECT 1;")
    with pytest.raises(InvalidScript, match=r"line 2 .*: .shell starts a program") as refused:
        library.change(script, text=REFUSED, name="renamed", author=None)
    assert refused.value.line == 2
    assert versions_of(script) == [(1, "SELECT 1;")]
    assert Script.objects.get().name == "orders"


def test_a_run_carries_the_text_of_the_version_it_names():
    script = library.create(name="orders", text="SELECT 1;")
    library.change(script, text="SELECT 2;", author=None)
    first = script.versions.get(number=1)
    targets = [
        {"script": "orders"},
        {"script": str(script.pk), "version": 1},
        {"script_version": first.pk},
        {"script_version": str(first.pk), "weight": 5},
    ]
    found = options.validate("pgbench", {"scripts": targets}, purpose="load")["scripts"]
    assert found == [
        {"text": "SELECT 2;", "weight": 1, "name": "orders", "version": 2},
        {"text": "SELECT 1;", "weight": 1, "name": "orders", "version": 1},
        {"text": "SELECT 1;", "weight": 1, "name": "orders", "version": 1},
        {"text": "SELECT 1;", "weight": 5, "name": "orders", "version": 1},
    ]
    script.delete()
    assert options.validate("pgbench", {"scripts": found}, purpose="load")["scripts"] == found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "script 1 has none of text, script and script_version: use one"),
        ({"text": "SELECT 1;", "script": "x"}, "script 1 has several of text, script and script_version: use one"),
        ({"script": "nobody"}, "script 1: there is no script 'nobody' in the library"),
        ({"script": "orders", "version": 7}, "script 1: there is no script 'orders' in the library"),
        ({"script": "orders", "version": "x"}, "script 1: there is no script 'orders' in the library"),
        ({"script_version": 999}, "script 1: there is no version '999' in the library"),
        ({"script_version": True}, "script 1: there is no version 'True' in the library"),
        ({"script_version": [1]}, "script 1: there is no version '[1]' in the library"),
        (
            {"text": "SELECT 2;", "name": "orders", "version": 1},
            "script 1 differs from version 1 of orders: leave the version out",
        ),
    ],
)
def test_what_the_library_does_not_hold_is_named(given, message):
    library.create(name="orders", text="SELECT 1;")
    with pytest.raises(InvalidOptions) as refused:
        options.validate("pgbench", {"scripts": [given]}, purpose="load")
    assert refused.value.errors == {"scripts": [message]}


def test_the_newest_version_of_each_is_listed_by_name():
    for name in ("b", "a"):
        script = library.create(name=name, text="SELECT 1;")
        library.change(script, text="SELECT 2;", author=None)
    assert [str(one) for one in library.newest_versions()] == ["a version 2", "b version 2"]
    assert ScriptVersion.objects.count() == 4


def test_teams_have_scripts_of_one_name_and_a_team_has_one():
    theirs = library.create(name="look", text="SELECT 1;", team=Team.objects.create(name="Payments"))
    ours = library.create(name="look", text="SELECT 2;")
    assert {script.pk for script in Script.objects.filter(name="look")} == {theirs.pk, ours.pk}
    with pytest.raises(InvalidScript, match="there is a script look already"):
        library.create(name="look", text="SELECT 3;")
    with pytest.raises(IntegrityError), transaction.atomic():
        Script.objects.create(name="look")


def test_a_name_that_several_of_ones_teams_use_needs_the_id():
    payments = Team.objects.create(name="Payments")
    library.create(name="look", text="SELECT 1;", team=payments)
    ours = library.create(name="look", text="SELECT 2;")
    with pytest.raises(InvalidOptions, match="script 1: several teams have a script 'look': use its id"):
        library.filled({"scripts": [{"script": "look"}]})
    by_id = library.filled({"scripts": [{"script": str(ours.pk)}]})
    assert by_id["scripts"][0]["text"] == "SELECT 2;"
    user = User.objects.create(username="ann")
    user.memberships.all().delete()
    user.memberships.create(team=payments, role=Role.DEVELOPER)
    seen = library.filled({"scripts": [{"script": "look"}]}, Access(user))
    assert seen["scripts"][0]["text"] == "SELECT 1;"
    kept = {"scripts": [{"text": "SELECT 2;", "name": "look", "version": 1}]}
    assert library.filled(kept) == kept
