"""Checks that the panel's role may put settings in force, and can read what to restore afterwards."""

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.clusters import connect

UNREADABLE = gettext_lazy(
    "the panel's role may not read pg_file_settings, so what was set before could not be brought back: use a superuser"
)
SWITCHED_OFF = gettext_lazy(
    "the server refuses ALTER SYSTEM altogether: set allow_alter_system = on in its postgresql.conf"
)
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
    """Return why this session's role may not, with the remedy; empty where it may.

    ALTER SYSTEM requires a superuser, or since PostgreSQL 15 a grant on the parameter.
    """
    row = connection.execute(_READS).fetchone()
    reads, reloads, alterable, superuser = row if row else (True, True, True, True)
    if not reads:
        return str(UNREADABLE)
    if not alterable:
        return str(SWITCHED_OFF)
    if not reloads:
        return _("the panel's role may not call pg_reload_conf(): grant EXECUTE on it, or use a superuser")
    return "" if superuser else _why_not_set(connection, list(names))


def _why_not_set(connection: connect.Connection, names: list[str]) -> str:
    if connection.info.server_version < PARAMETER_RIGHTS_SINCE:
        return _("the panel's role may not use ALTER SYSTEM: use a superuser")
    unsupported = [row[0] for row in connection.execute(_NOT_TO_SET, (names,)).fetchall()]
    if not unsupported:
        return ""
    named = ", ".join(unsupported)
    text = _(
        "the panel's role may not use ALTER SYSTEM of %(names)s: GRANT ALTER SYSTEM ON PARAMETER %(names)s to it, or "
        "use a superuser"
    )
    return text % {"names": named}
