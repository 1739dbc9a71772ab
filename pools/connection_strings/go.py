"""A pgx pool in Go (pgxpool; pgx reads libpq's keyword=value strings and its sslmode as libpq does)."""

from pools.clusters.endpoints import Endpoint
from pools.connection_strings import keywords
from pools.connection_strings.quoting import quoted


def render(endpoint: Endpoint) -> str:
    """Return `pool, err := pgxpool.New(…, "host=…")`; pgx up to 5.7 cuts a database name with slashes in a URI."""
    return f"pool, err := pgxpool.New(context.Background(), {quoted(keywords.render(endpoint))})"
