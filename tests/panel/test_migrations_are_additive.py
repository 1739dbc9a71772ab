"""Migrations since the first release only add: web processes of the release before work on the new schema meanwhile.

What is to go is first no longer used (one release), then removed (the next): expand and contract. A migration that does
more has its reason in `EXCEPTIONS`.
"""

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models.fields import NOT_PROVIDED, Field

BEFORE_THE_FIRST_RELEASE = {"accounts": 3, "benchmarks": 19, "installation": 2, "pools": 37}
EXCEPTIONS: dict[str, str] = {  # "pools.0038_name": why no process of the release before is harmed
    "benchmarks.0025_names_of_scripts_by_team": "the release before writes no name twice at all",
}
# What changes no column.
ALIKE = (
    "choices",
    "help_text",
    "verbose_name",
    "validators",
    "default",
    "db_default",
    "blank",
    "related_name",
    "editable",
)
ADDS = (
    migrations.CreateModel,
    migrations.AddIndex,
    migrations.RemoveIndex,
    migrations.RenameIndex,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.RemoveConstraint,
    migrations.RunPython,
)


def fault(operation: Operation, app: str, before: ProjectState) -> str:
    """Why code of the release before fails after the operation; empty where it does not."""
    match operation:
        case migrations.AddField(field=field):
            return (
                "" if may_be_left_out(field) else "an INSERT of the release before lacks it: null=True or db_default="
            )
        case migrations.AlterField(model_name_lower=model, name=name, field=field):
            return narrower(before.models[app, model].fields[name], field)
        case migrations.SeparateDatabaseAndState(database_operations=inner):
            return "; ".join(filter(None, (fault(one, app, before) for one in inner)))
        case _ if isinstance(operation, ADDS):
            return ""
    return f"{type(operation).__name__} takes away or limits what the release before uses"


def may_be_left_out(field: Field) -> bool:
    return field.many_to_many or field.null or field.generated or field.db_default is not NOT_PROVIDED


def narrower(old: Field, new: Field) -> str:
    if old.null and not new.null:
        return "the release before may write NULL"
    if (old.max_length or 0) > (new.max_length or old.max_length or 0):
        return "the release before may write longer texts"
    if new.unique and not old.unique:
        return "the release before may write the same twice"
    ignored = {*ALIKE, "null", "max_length", "unique", "db_index"}
    kinds = [
        (type(one), {key: value for key, value in one.deconstruct()[3].items() if key not in ignored})
        for one in (old, new)
    ]
    return "" if kinds[0] == kinds[1] else "its type changes"


def number_of(name: str) -> int:
    return int(name.partition("_")[0])


def test_migrations_since_the_first_release_only_add() -> None:
    loader = MigrationLoader(None)
    faults = []
    for (app, name), migration in sorted(loader.disk_migrations.items()):
        if app not in BEFORE_THE_FIRST_RELEASE or number_of(name) <= BEFORE_THE_FIRST_RELEASE[app]:
            continue
        state = loader.project_state((app, name), at_end=False)
        made = {one.name_lower for one in migration.operations if isinstance(one, migrations.CreateModel)}
        for operation in migration.operations:
            is_known = getattr(operation, "model_name_lower", "") not in made  # to the release before
            if is_known and (why := fault(operation, app, state)) and f"{app}.{name}" not in EXCEPTIONS:
                faults.append(f"{app}.{name}: {operation.describe()}: {why}")
            operation.state_forwards(app, state)
    assert faults == []


def test_each_exception_is_a_migration_with_its_reason() -> None:
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    assert {*EXCEPTIONS} <= known
    assert all(EXCEPTIONS.values())


def test_the_first_release_has_all_apps_of_ours() -> None:
    ours = {app for app, _ in MigrationLoader(None).disk_migrations if app in BEFORE_THE_FIRST_RELEASE}
    assert ours == {*BEFORE_THE_FIRST_RELEASE}


REFUSED = [
    migrations.AddField("pool", "x", models.IntegerField(default=1)),
    migrations.RemoveField("pool", "name"),
    migrations.RenameField("pool", "name", "title"),
    migrations.RenameModel("pool", "basin"),
    migrations.DeleteModel("pool"),
    migrations.AlterField("pool", "note", models.TextField()),
    migrations.AlterField("pool", "name", models.CharField(max_length=5)),
    migrations.AlterField("pool", "name", models.CharField(max_length=63, unique=True)),
    migrations.AlterField("pool", "name", models.IntegerField()),
    migrations.AddConstraint("pool", models.CheckConstraint(condition=models.Q(name="x"), name="x")),
    migrations.RunSQL("DROP TABLE x"),
    migrations.SeparateDatabaseAndState(database_operations=[migrations.DeleteModel("pool")]),
]
ALLOWED = [
    migrations.AddField("pool", "x", models.IntegerField(default=1, db_default=1)),
    migrations.AddField("pool", "x", models.IntegerField(null=True)),
    migrations.AddField("pool", "x", models.ManyToManyField("self")),
    migrations.AlterField("pool", "name", models.CharField(max_length=200, choices=[("a", "b")])),
    migrations.AlterField("pool", "name", models.CharField(max_length=63, null=True)),
    migrations.CreateModel("other", []),
    migrations.AddIndex("pool", models.Index(fields=["name"], name="x")),
]


@pytest.mark.parametrize("operation", [*REFUSED, *ALLOWED], ids=repr)
def test_what_harms_the_release_before_is_refused(operation: Operation) -> None:
    before = ProjectState()
    fields = [("name", models.CharField(max_length=63)), ("note", models.TextField(null=True))]
    migrations.CreateModel("pool", fields).state_forwards("pools", before)
    assert bool(fault(operation, "pools", before)) is (operation in REFUSED)
