"""Runs what changes a cluster, and says in people's words why the server refused it."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors, sql

from pools.clusters import connect
from pools.errors import ClusterUnreachable, IllegalTransition, InvalidValues, NotThere, PoolsError
from pools.models import Cluster

LOCK_TIMEOUT_S = 5
STATEMENT_TIMEOUT_S = 120  # a template is copied file by file

# By SQLSTATE (PostgreSQL's manual, appendix A): messages come in the server's language, these codes do not.
TAKEN = (errors.DuplicateDatabase, errors.DuplicateObject, errors.UniqueViolation)
GONE = (errors.UndefinedObject, errors.InvalidCatalogName)
BUSY = (errors.ObjectInUse, errors.DependentObjectsStillExist)
TOO_SLOW = (errors.LockNotAvailable, errors.QueryCanceled)


@contextmanager
def changing(cluster: Cluster, database: str | None = None, *, field: str = "name") -> Iterator[connect.Connection]:
    """An autocommit session of the panel's login that gives up on locks after 5 s and on a statement after 120 s.

    What the server refuses is raised as `InvalidValues` of that field (the name is taken, or a value it can't take),
    `NotThere`, or `IllegalTransition` (in use, no privilege, a standby). Raises `ClusterUnreachable`.
    """
    try:
        with connect.connect(cluster, database=database) as connection:
            _set_timeouts(connection)
            yield connection
    except UnicodeEncodeError as error:
        letters = error.object[error.start : error.end]
        raise InvalidValues({field: [f"{letters!r} does not exist in the encoding of cluster {cluster}"]}) from None
    except psycopg.Error as error:
        # `from None`: the error carries the statement, and a password's hash may stand in it
        raise refusal(error, cluster, field) from None


def refusal(error: psycopg.Error, cluster: Cluster, field: str = "name") -> PoolsError:
    """The server's refusal as one of ours; it holds the server's words, never the statement."""
    words = message_of(error)
    if isinstance(error, TAKEN):
        return InvalidValues({field: [f"{words} on cluster {cluster}: choose another name"]})
    if isinstance(error, GONE):
        return NotThere(f"{words} on cluster {cluster}: it was dropped meanwhile, look at the list again")
    if isinstance(error, errors.InsufficientPrivilege):
        return IllegalTransition(
            f"the panel's login {cluster.admin_user!r} may not do that on cluster {cluster}: {words}; "
            "grant it the right, or let the cluster's login be a role that has it"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return IllegalTransition(f"cluster {cluster} takes no changes ({words}): do it on its primary")
    if isinstance(error, TOO_SLOW):
        return IllegalTransition(f"cluster {cluster} gave up: {words}; try again when it is less busy")
    if isinstance(error, BUSY):
        return IllegalTransition(f"cluster {cluster} refuses: {words}")
    if error.sqlstate is None:
        return ClusterUnreachable(f"the connection to cluster {cluster} was lost: look whether the change was made")
    return InvalidValues({field: [f"cluster {cluster} refuses: {words}"]})


def message_of(error: psycopg.Error) -> str:
    """The server's message and detail on one line; not `str(error)`, which quotes the statement."""
    parts = (error.diag.message_primary, error.diag.message_detail)
    return ": ".join(" ".join(part.split()) for part in parts if part) or "no reason was given"


def _set_timeouts(connection: connect.Connection) -> None:
    for name, seconds in (("lock_timeout", LOCK_TIMEOUT_S), ("statement_timeout", STATEMENT_TIMEOUT_S)):
        connection.execute(sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.Literal(f"{seconds}s")))
