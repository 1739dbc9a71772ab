"""Errors of clusters, poolers and pools; `status` is the HTTP status of the response."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Self

from django.utils.translation import gettext as _

from core.lib import private_text
from core.lib.errors import DomainError


class PoolsError(DomainError):
    """An operation of this app failed."""


class Stale(PoolsError):
    """Another request changed the record since it was read."""

    status = 409


class IllegalTransition(PoolsError):
    """The record is in a state that does not allow this."""

    status = 409


class ClusterUnreachable(PoolsError):
    """The login to the cluster failed; the message names the reason, `cause` is a value of `login_errors.Cause`.

    The reason may be a private text (`core.lib.private_text`). `words` are those of the server and of libpq, without
    the password.
    """

    status = 502

    def __init__(self, message: str, cause: str = "other", words: str = "") -> None:
        super().__init__(message)
        self.cause, self.words = cause, words


class NoStandby(PoolsError):
    """A standby is required, and the panel knows none of the cluster."""

    status = 409


class InvalidValues(PoolsError):
    """The given values are not valid; `errors` are the messages by field, for forms and the API."""

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__("; ".join(message for messages in errors.values() for message in messages))
        self.errors = errors

    @classmethod
    def refuse(cls, problems: Iterable[tuple[str, str]]) -> None:
        """Raise the error if there are any problems, (field, message) pairs."""
        errors: dict[str, list[str]] = defaultdict(list)
        for field, message in problems:
            errors[field].append(message)
        if errors:
            raise cls(dict(errors))


class PoolerUnreachable(PoolsError):
    """The login to the pooler's console failed."""

    status = 502

    @classmethod
    def at(cls, pooler: object, reason: str) -> Self:
        """Return the error with a reason that tells what stands at the pooler's address: admins alone read it."""
        public = _("the panel can't reach pooler %(pooler)s; an admin sees the reason") % {"pooler": pooler}
        return cls(private_text.write(reason, public))


class HostUnreachable(PoolerUnreachable):
    """The login to a host by SSH failed, or its connection was lost: what ran there may have been done or not."""


class OutcomeUnknown(HostUnreachable):
    """A command was ended before it answered, so that it may have taken effect; the connection is still there."""


class ApplyFailed(PoolsError):
    """A configuration could not be brought live."""


class LockLost(PoolsError):
    """The lease ran out and another worker applies now; this one must not write any more."""


class QueueDown(PoolsError):
    """Redis can't be reached, so no task was queued."""

    status = 503


class NotThere(PoolsError):
    """The named object does not exist on the cluster (any more)."""

    status = 404


class ConsoleRefused(PoolsError):
    """The pooler's console refused a command or does not have it; the message quotes it."""

    status = 409


class NotLive(ConsoleRefused):
    """The console has no such pool: it was never applied, or was removed."""
