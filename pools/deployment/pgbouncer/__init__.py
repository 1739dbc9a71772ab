"""Takes a running PgBouncer over, and lets it go."""
