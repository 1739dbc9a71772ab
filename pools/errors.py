"""What can go wrong with clusters, poolers and pools; `status` is the HTTP answer."""

from collections import defaultdict
from collections.abc import Iterable


class PoolsError(Exception):
    """A verb of this app can't be done; the message carries the value and the remedy."""

    status = 400


class Stale(PoolsError):
    """Somebody else changed the record since it was read."""

    status = 409


class IllegalTransition(PoolsError):
    """The record is in a state that does not allow this."""

    status = 409


class ClusterUnreachable(PoolsError):
    """The cluster can't be logged in to; the message says precisely why, `cause` in one word of login_failures.

    `words` are those of the server and of libpq, without the password.
    """

    status = 502

    def __init__(self, message: str, cause: str = "other", words: str = "") -> None:
        super().__init__(message)
        self.cause, self.words = cause, words

    def detail_for(self, *, to_admin: bool) -> str:
        """The message, for an admin with what was answered where no better reason is known."""
        return f"{self} (it said: {self.words})" if to_admin and self.cause == "other" and self.words else str(self)


class NoStandby(PoolsError):
    """A standby is asked for, and the cluster has none that the panel knows."""

    status = 409


class InvalidValues(PoolsError):
    """What was typed can't be taken; `errors` are the messages by field, for forms and the API."""

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__("; ".join(message for messages in errors.values() for message in messages))
        self.errors = errors

    @classmethod
    def refuse(cls, problems: Iterable[tuple[str, str]]) -> None:
        """Raise it where there are problems: (field, message) pairs."""
        errors: dict[str, list[str]] = defaultdict(list)
        for field, message in problems:
            errors[field].append(message)
        if errors:
            raise cls(dict(errors))


class PoolerUnreachable(PoolsError):
    """The pooler's console can't be logged in to."""

    status = 502


class ApplyFailed(PoolsError):
    """A configuration could not be brought live."""


class QueueDown(PoolsError):
    """Redis can't be reached, so no worker was told."""

    status = 503


class NotThere(PoolsError):
    """What was named does not exist on the cluster (any more)."""

    status = 404


class ConsoleRefused(PoolsError):
    """The pooler's console said no, or has no such command; the message carries its words."""

    status = 409


class NotLive(ConsoleRefused):
    """The console knows no such pool: it was never applied, or is gone."""
