"""Monitoring before a real PgBouncer, Redis and load."""
