"""What a role may do in a database: the statements that let it, and those that take it back."""

from collections.abc import Iterable, Iterator

from django.db import models
from psycopg import sql


class Access(models.TextChoices):
    """How far a role may go in one database; each holds what stands before it, but `own` makes it the owner."""

    CONNECT = "connect", "connect only"
    READ = "read", "read everything"
    WRITE = "write", "read and write everything"
    OWN = "own", "own the database"


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
# For tables that come later; a role's defaults reach what that role makes (the manual on ALTER DEFAULT PRIVILEGES).
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
# Who makes tables here: the database's owner, and those who own tables already. The panel's login sets the
# defaults of those whose member it is; a superuser is everybody's.
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


def given(
    database: str, role: str, access: Access, schemas: Iterable[str], makers: Iterable[str]
) -> Iterator[sql.Composed]:
    """The statements that give the access; to be run in that database."""
    names = {"database": sql.Identifier(database), "role": sql.Identifier(role)}
    yield ON_DATABASE[access].format(**names)
    for schema in schemas:
        for statement in IN_SCHEMA.get(access, ()):
            yield statement.format(schema=sql.Identifier(schema), **names)
    for maker in makers:
        for statement in LATER.get(access, ()):
            yield statement.format(maker=sql.Identifier(maker), **names)


def taken_back(database: str, role: str, schemas: Iterable[str], makers: Iterable[str]) -> Iterator[sql.Composed]:
    """The statements that revoke whatever `given` can have given; they never drop anything."""
    names = {"database": sql.Identifier(database), "role": sql.Identifier(role)}
    for schema in schemas:
        for statement in TAKEN_BACK_IN_SCHEMA:
            yield statement.format(schema=sql.Identifier(schema), **names)
    for maker in makers:
        for statement in TAKEN_BACK_LATER:
            yield statement.format(maker=sql.Identifier(maker), **names)
    yield sql.SQL("REVOKE ALL ON DATABASE {database} FROM {role}").format(**names)
