"""Runs statements that change a cluster, and turns the server's refusals into errors of this app."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.utils.translation import gettext as _
from psycopg import errors, sql

from pools.clusters import connect
from pools.errors import ClusterUnreachable, IllegalTransition, InvalidValues, NotThere, PoolsError
from pools.models import Cluster

LOCK_TIMEOUT_S = 5
STATEMENT_TIMEOUT_S = 120  # a template is copied file by file

# SQLSTATE codes (PostgreSQL's manual, appendix A), since messages come in the server's language.
TAKEN = (errors.DuplicateDatabase, errors.DuplicateObject, errors.UniqueViolation)
GONE = (errors.UndefinedObject, errors.InvalidCatalogName)
BUSY = (errors.ObjectInUse, errors.DependentObjectsStillExist)


@contextmanager
def session(cluster: Cluster, database: str | None = None, *, field: str = "name") -> Iterator[connect.Connection]:
    """Open an autocommit session of the panel's login, with a lock timeout of 5 s and a statement timeout of 120 s.

    A refusal of the server is raised as `InvalidValues` of that field (the name is taken, or a value is invalid),
    `NotThere`, or `IllegalTransition` (in use, no privilege, a standby). Raises `ClusterUnreachable`.
    """
    try:
        with connect.connect(cluster, database=database) as connection:
            _set_timeouts(connection)
            yield connection
    except UnicodeEncodeError as error:
        letters = error.object[error.start : error.end]
        text = _("%(letters)r does not exist in the encoding of cluster %(cluster)s")
        raise InvalidValues({field: [text % {"letters": letters, "cluster": cluster}]}) from None
    except psycopg.Error as error:
        # `from None`: the error carries the statement, which may hold a password's hash
        raise refusal(error, cluster, field) from None


def refusal(error: psycopg.Error, cluster: Cluster, field: str = "name") -> PoolsError:
    """Return the server's refusal as an error of this app; it holds the server's message, never the statement."""
    limits = {"lock_s": LOCK_TIMEOUT_S, "statement_s": STATEMENT_TIMEOUT_S}
    params = {"reason": message_of(error), "cluster": cluster, "login": cluster.admin_user, **limits}
    if isinstance(error, TAKEN):
        return InvalidValues({field: [_("%(reason)s on cluster %(cluster)s: choose another name") % params]})
    if isinstance(error, GONE):
        text = _("%(reason)s on cluster %(cluster)s: it was dropped in the meantime, reload the list")
        return NotThere(text % params)
    if (illegal := _illegal(error)) is not None:
        return IllegalTransition(illegal % params)
    if error.sqlstate is None:
        text = _("the connection to cluster %(cluster)s was lost: check whether the change was made")
        return ClusterUnreachable(text % params)
    return InvalidValues({field: [_("cluster %(cluster)s refuses: %(reason)s") % params]})


def _illegal(error: psycopg.Error) -> str | None:
    if isinstance(error, errors.InsufficientPrivilege):
        return _(
            "the panel's login %(login)r may not do that on cluster %(cluster)s: %(reason)s; "
            "grant it the right, or let the cluster's login be a role that has it"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return _("cluster %(cluster)s accepts no changes (%(reason)s): do it on its primary")
    if isinstance(error, errors.LockNotAvailable):
        return _("cluster %(cluster)s gave up after %(lock_s)s s: %(reason)s; try again when it is less busy")
    if isinstance(error, errors.QueryCanceled):
        return _("cluster %(cluster)s gave up after %(statement_s)s s: %(reason)s; try again when it is less busy")
    if isinstance(error, BUSY):
        return _("cluster %(cluster)s refuses: %(reason)s")
    return None


def message_of(error: psycopg.Error) -> str:
    """Return the server's message and detail on one line; `str(error)` would quote the statement."""
    parts = (error.diag.message_primary, error.diag.message_detail)
    return ": ".join(" ".join(part.split()) for part in parts if part) or _("no reason was given")


def _set_timeouts(connection: connect.Connection) -> None:
    for name, seconds in (("lock_timeout", LOCK_TIMEOUT_S), ("statement_timeout", STATEMENT_TIMEOUT_S)):
        connection.execute(sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.Literal(f"{seconds}s")))
