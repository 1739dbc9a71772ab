"""The compilers of SQL for SQLite."""

from django.db.models.sql.compiler import SQLAggregateCompiler, SQLCompiler

from core.audit.writes import RecordingDelete as SQLDeleteCompiler
from core.audit.writes import RecordingInsert as SQLInsertCompiler
from core.audit.writes import RecordingUpdate as SQLUpdateCompiler

__all__ = ["SQLAggregateCompiler", "SQLCompiler", "SQLDeleteCompiler", "SQLInsertCompiler", "SQLUpdateCompiler"]
