"""The compilers of SQL for PostgreSQL."""

from django.db.backends.postgresql import compiler

from core.audit.writes import RecordingDelete as SQLDeleteCompiler
from core.audit.writes import RecordingInsert
from core.audit.writes import RecordingUpdate as SQLUpdateCompiler

SQLAggregateCompiler, SQLCompiler = compiler.SQLAggregateCompiler, compiler.SQLCompiler


class SQLInsertCompiler(RecordingInsert, compiler.SQLInsertCompiler):
    """Inserts as PostgreSQL does best, and records."""


__all__ = ["SQLAggregateCompiler", "SQLCompiler", "SQLDeleteCompiler", "SQLInsertCompiler", "SQLUpdateCompiler"]
