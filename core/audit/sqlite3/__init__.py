"""Django's engine for SQLite, which records what is written to tracked models."""
