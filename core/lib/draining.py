"""Whether this process was asked to end: requests that wait then answer at once, and event streams end."""

import threading

_begun = threading.Event()


def begin() -> None:
    """Note that the process was asked to end; safe in a signal handler."""
    _begun.set()


def has_begun() -> bool:
    """Tell whether it was."""
    return _begun.is_set()


def sleep(seconds: float) -> None:
    """Sleep, but no longer than until the process is asked to end."""
    _begun.wait(seconds)


def forget() -> None:
    """Take it back, for tests."""
    _begun.clear()
