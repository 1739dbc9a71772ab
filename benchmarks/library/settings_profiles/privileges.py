"""Whether the panel's role may put settings in force at all, and know what to bring back afterwards."""

from collections.abc import Iterable

from pools.clusters import connect

UNREADABLE = (
    "the panel's role may not read pg_file_settings, so what was set before could not be brought back: use a superuser"
)
UNSETTABLE = "the panel's role may not use ALTER SYSTEM"
SWITCHED_OFF = "the server refuses ALTER SYSTEM altogether: set allow_alter_system = on in its postgresql.conf"
PARAMETER_RIGHTS_SINCE = 150_000
_READS = """
    SELECT has_table_privilege('pg_file_settings', 'SELECT')
       AND has_function_privilege('pg_show_all_file_settings()', 'EXECUTE')
       AND pg_has_role('pg_read_all_settings', 'USAGE'), -- where the file lies
           has_function_privilege('pg_reload_conf()', 'EXECUTE'),
           coalesce(current_setting('allow_alter_system', true), 'on') = 'on',
           current_setting('is_superuser') = 'on'
"""
_NOT_TO_SET = """
    SELECT name FROM pg_settings WHERE name = ANY(%s) AND NOT has_parameter_privilege(name, 'ALTER SYSTEM') ORDER BY 1
"""


def why_not(connection: connect.Connection, names: Iterable[str]) -> str:
    """Why this session's role may not, with the remedy; empty where it may.

    ALTER SYSTEM is a superuser's, and since PostgreSQL 15 anybody's who was granted it on the parameter.
    """
    row = connection.execute(_READS).fetchone()
    reads, reloads, alterable, superuser = row if row else (True, True, True, True)
    if not reads:
        return UNREADABLE
    if not alterable:
        return SWITCHED_OFF
    if not reloads:
        return "the panel's role may not call pg_reload_conf(): grant EXECUTE on it, or use a superuser"
    return "" if superuser else _why_not_set(connection, list(names))


def _why_not_set(connection: connect.Connection, names: list[str]) -> str:
    if connection.info.server_version < PARAMETER_RIGHTS_SINCE:
        return f"{UNSETTABLE}: use a superuser"
    unsupported = [row[0] for row in connection.execute(_NOT_TO_SET, (names,)).fetchall()]
    if not unsupported:
        return ""
    named = ", ".join(unsupported)
    return f"{UNSETTABLE} of {named}: GRANT ALTER SYSTEM ON PARAMETER {named} to it, or use a superuser"
