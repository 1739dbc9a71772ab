"""A role's access to a database: the statements that grant it, and those that revoke it."""

from collections.abc import Iterable, Iterator

from django.db import models
from django.utils.translation import gettext_lazy as _
from psycopg import sql


class Access(models.TextChoices):
    """A role's access to one database; each level includes the one before, and `own` makes it the owner."""

    CONNECT = "connect", _("connect only")
    READ = "read", _("read everything")
    WRITE = "write", _("read and write everything")
    OWN = "own", _("own the database")


ON_DATABASE = {
    Access.CONNECT: sql.SQL("GRANT CONNECT ON DATABASE {database} TO {role}"),
    Access.READ: sql.SQL("GRANT CONNECT ON DATABASE {database} TO {role}"),
    Access.WRITE: sql.SQL("GRANT CONNECT, TEMPORARY ON DATABASE {database} TO {role}"),
    Access.OWN: sql.SQL("ALTER DATABASE {database} OWNER TO {role}"),
}
IN_SCHEMA = {
    Access.READ: (
        sql.SQL("GRANT USAGE ON SCHEMA {schema} TO {role}"),
        sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}"),
        sql.SQL("GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}"),
    ),
    Access.WRITE: (
        sql.SQL("GRANT USAGE ON SCHEMA {schema} TO {role}"),
        sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}"),
        sql.SQL("GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}"),
    ),
}
# Privileges on later tables: a role's default privileges apply to what it creates (the manual on ALTER DEFAULT
# PRIVILEGES).
LATER = {
    Access.READ: (
        sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {maker} GRANT SELECT ON TABLES TO {role}"),
        sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {maker} GRANT SELECT ON SEQUENCES TO {role}"),
    ),
    Access.WRITE: (
        sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {maker} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}"),
        sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {maker} GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO {role}"),
    ),
}
TAKEN_BACK_IN_SCHEMA = (
    sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}"),
    sql.SQL("REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {role}"),
    sql.SQL("REVOKE ALL ON SCHEMA {schema} FROM {role}"),
)
TAKEN_BACK_LATER = (
    sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {maker} REVOKE ALL ON TABLES FROM {role}"),
    sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {maker} REVOKE ALL ON SEQUENCES FROM {role}"),
)

SCHEMAS = r"SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1"
# Roles that create tables here: the database's owner, and owners of existing tables. The panel's login can set the
# defaults of roles that it is a member of; a superuser counts as a member of all.
MAKERS = r"""
    SELECT pg_get_userbyid(owner) FROM (
        SELECT datdba AS owner FROM pg_database WHERE datname = current_database()
         UNION SELECT relowner FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND relnamespace IN (
             SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
    ) AS makers WHERE pg_has_role(owner, 'MEMBER') ORDER BY 1
"""
GRANTED_MAKERS = """
    SELECT DISTINCT pg_get_userbyid(a.defaclrole) FROM pg_default_acl a, aclexplode(a.defaclacl) e
     WHERE e.grantee = {role}::regrole AND a.defaclnamespace = 0 ORDER BY 1
"""


def grant_statements(
    database: str, role: str, access: Access, schemas: Iterable[str], makers: Iterable[str]
) -> Iterator[sql.Composed]:
    """Yield the statements that grant the access; they are to be run in that database."""
    names = {"database": sql.Identifier(database), "role": sql.Identifier(role)}
    yield ON_DATABASE[access].format(**names)
    for schema in schemas:
        for statement in IN_SCHEMA.get(access, ()):
            yield statement.format(schema=sql.Identifier(schema), **names)
    for maker in makers:
        for statement in LATER.get(access, ()):
            yield statement.format(maker=sql.Identifier(maker), **names)


def revoke_statements(
    database: str, role: str, schemas: Iterable[str], makers: Iterable[str]
) -> Iterator[sql.Composed]:
    """Yield the statements that revoke whatever `grant_statements` can have granted; they never drop anything."""
    names = {"database": sql.Identifier(database), "role": sql.Identifier(role)}
    for schema in schemas:
        for statement in TAKEN_BACK_IN_SCHEMA:
            yield statement.format(schema=sql.Identifier(schema), **names)
    for maker in makers:
        for statement in TAKEN_BACK_LATER:
            yield statement.format(maker=sql.Identifier(maker), **names)
    yield sql.SQL("REVOKE ALL ON DATABASE {database} FROM {role}").format(**names)
