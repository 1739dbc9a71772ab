"""Django's engine for PostgreSQL, which records what is written to tracked models."""
