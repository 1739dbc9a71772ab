"""The connection that Django makes for `core.audit.sqlite3`."""

from django.db.backends.sqlite3 import base, operations

from core.audit.connections import RecordingConnection


class DatabaseOperations(operations.DatabaseOperations):
    """SQLite's operations with recording compilers."""

    compiler_module = "core.audit.sqlite3.compiler"


class DatabaseWrapper(RecordingConnection, base.DatabaseWrapper):
    """A connection to SQLite that records."""

    ops_class = DatabaseOperations
