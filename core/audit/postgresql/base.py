"""The connection that Django makes for `core.audit.postgresql`."""

from django.db.backends.postgresql import base, operations

from core.audit.connections import RecordingConnection


class DatabaseOperations(operations.DatabaseOperations):
    """PostgreSQL's operations with recording compilers."""

    compiler_module = "core.audit.postgresql.compiler"


class DatabaseWrapper(RecordingConnection, base.DatabaseWrapper):
    """A connection to PostgreSQL that records."""

    ops_class = DatabaseOperations
