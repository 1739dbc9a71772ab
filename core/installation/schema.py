"""The migrations that this release knows, against those that a database has."""

from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def known_migrations() -> set[str]:
    """Return the migrations of this release as `app.name`, those that squashed ones replace included."""
    found: set[tuple[str, str]] = set()
    for key, migration in MigrationLoader(None).disk_migrations.items():
        found |= {key, *((app, name) for app, name in migration.replaces)}
    return {f"{app}.{name}" for app, name in found}


def unknown_migrations() -> list[str]:
    """Return the migrations of the metadata database that this release does not know: a newer one made them."""
    labels = {config.label for config in apps.get_app_configs()}
    applied = MigrationRecorder(connection).applied_migrations()
    applied_here = {f"{app}.{name}" for app, name in applied if app in labels}
    return sorted(applied_here - known_migrations())


def row_counts(tables: list[str]) -> dict[str, int]:
    """Count the rows of tables of the metadata database; one that is missing is left out."""
    present, counts = set(connection.introspection.table_names()), {}
    with connection.cursor() as cursor:
        for table in sorted(present & {*tables}):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 (quoted)
            counts[table] = cursor.fetchone()[0]
    return counts
