"""The look-up of inbound users' secrets on a cluster: the query of a pooler's `auth_query`, and its function."""

from pools.clusters.connect import Connection

SCHEMA, FUNCTION = "pooldeck", "user_lookup"
QUERY = "SELECT usename, passwd FROM pooldeck.user_lookup($1)"
USUAL_ROLE = "pooldeck_auth"
SEARCH_PATH = "pg_catalog, pg_temp"
BODY = """
    SELECT rolname, rolpassword
    FROM pg_catalog.pg_authid
    WHERE rolname = username
      AND rolcanlogin AND NOT rolsuper AND rolname <> {role}
      AND (rolvaliduntil IS NULL OR rolvaliduntil > pg_catalog.now())
"""
"""Whose secret is told: a role that may log in now, but no superuser and not the role that asks."""


MAY_ASK = f"SELECT 1 WHERE has_function_privilege(to_regprocedure('{SCHEMA}.{FUNCTION}(text)'), 'EXECUTE')"
"""Has a row where the logged-in role may call the function in this database."""


def may_ask(connection: Connection) -> bool:
    """Return whether the logged-in role may call the function in this database."""
    return connection.execute(MAY_ASK.encode()).fetchone() is not None
