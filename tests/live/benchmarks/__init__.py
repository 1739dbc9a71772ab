"""Runs on real PostgreSQL, PgBouncer, Redis and pgbench, by real workers."""
