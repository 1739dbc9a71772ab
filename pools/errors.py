"""What can go wrong with clusters, poolers and pools; `status` is the HTTP answer."""


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
    """The cluster can't be logged in to; the message says precisely why."""

    status = 502


class PoolerUnreachable(PoolsError):
    """The pooler's console can't be logged in to."""

    status = 502


class ApplyFailed(PoolsError):
    """A configuration could not be brought live."""
