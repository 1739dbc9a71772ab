"""PgBouncer: its files, its console, and the proof that they agree."""
